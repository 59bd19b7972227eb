import { X509Certificate } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { selfSignedCertificate, type KeyedCertificate } from './self-signed.ts'

const OWNER_ONLY = 0o600

/** Reads a certificate and its key, in PEM. Throws Error when one cannot be read. */
export function readCertificate(certificatePath: string, keyPath: string): KeyedCertificate {
  return { certificate: readFileSync(certificatePath, 'utf8'), key: readFileSync(keyPath, 'utf8') }
}

/** The certificate that the node made for itself in its data folder; a new one when there is none yet for these hosts. */
export function ownCertificate(dataDir: string, hosts: string[]): KeyedCertificate & { path: string } {
  const folder = join(dataDir, 'tls')
  const path = join(folder, 'certificate.pem')
  const keyPath = join(folder, 'key.pem')
  if (existsSync(path) && existsSync(keyPath)) {
    const found = readCertificate(path, keyPath)
    if (isFor(found.certificate, hosts)) return { ...found, path }
  }
  const made = selfSignedCertificate(hosts, new Date())
  mkdirSync(folder, { recursive: true })
  writeFileSync(keyPath, made.key, { mode: OWNER_ONLY })
  writeFileSync(path, made.certificate)
  return { ...made, path }
}

function isFor(certificate: string, hosts: string[]): boolean {
  const parsed = new X509Certificate(certificate)
  const isCurrent = parsed.validToDate.getTime() > Date.now()
  return isCurrent && hosts.every((host) => (isIP(host) === 0 ? parsed.checkHost(host) : parsed.checkIP(host)) !== undefined)
}
