import { X509Certificate, createPrivateKey } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { issueNodeCertificate } from './node-certificate.ts'

test.each(['localhost', '10.1.2.3'])('a node of KurrentDB at %s gets a certificate of an authority', async (host) => {
  const folder = await mkdtemp(join(tmpdir(), 'node-certificate-'))
  try {
    const { authority, certificate, key } = await issueNodeCertificate(folder, host)
    const [issuer, node] = [
      new X509Certificate(await readFile(authority)),
      new X509Certificate(await readFile(certificate)),
    ]
    const privateKey = createPrivateKey(await readFile(key))
    expect([issuer.ca, node.ca, node.verify(issuer.publicKey), node.checkPrivateKey(privateKey)]).toEqual([
      true,
      false,
      true,
      true,
    ])
    expect(privateKey.asymmetricKeyType).toBe('rsa')
    expect([node.checkHost('localhost'), node.checkIP('127.0.0.1')]).toEqual(['localhost', '127.0.0.1'])
    expect(host === 'localhost' ? node.checkHost(host) : node.checkIP(host)).toBe(host)
    expect([node.subject, node.keyUsage]).toEqual(['CN=eventstoredb-node', ['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2']])
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
