import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Paths of PEM files. */
export interface NodeCertificate {
  readonly authority: string
  readonly certificate: string
  readonly key: string
}

/**
 * Makes an authority and a certificate for a node of KurrentDB at `host`, by openssl. KurrentDB reads RSA keys only, and
 * a node proves to itself by the same certificate that it is a node.
 */
export async function issueNodeCertificate(folder: string, host: string): Promise<NodeCertificate> {
  const path = (name: string) => join(folder, name)
  const settings = path('openssl.cnf')
  const name = `${isIP(host) === 0 ? 'DNS' : 'IP'}:${host}`
  await writeFile(
    settings,
    `[req]
distinguished_name = name
prompt = no
[name]
CN = eventstoredb-node
[authority]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[node]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature, keyEncipherment
extendedKeyUsage = serverAuth, clientAuth
subjectAltName = ${name}, DNS:localhost, IP:127.0.0.1
`,
  )
  const [authority, authorityKey] = [path('ca.crt'), path('ca.key')]
  const [certificate, key, request] = [path('node.crt'), path('node.key'), path('node.csr')]
  const asked = ['-config', settings, '-newkey', 'rsa:2048', '-nodes']
  const made = ['-x509', '-days', '2', '-subj', '/CN=tests of the platform', '-extensions', 'authority']
  await run('openssl', ['req', ...asked, ...made, '-keyout', authorityKey, '-out', authority])
  await run('openssl', ['req', ...asked, '-keyout', key, '-out', request])
  const issuer = ['-CA', authority, '-CAkey', authorityKey, '-CAcreateserial', '-days', '2']
  const extensions = ['-extfile', settings, '-extensions', 'node']
  await run('openssl', ['x509', '-req', '-in', request, ...issuer, ...extensions, '-out', certificate])
  return { authority, certificate, key }
}
