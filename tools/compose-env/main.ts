import { randomBytes, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'

/** Letters and digits only: some secrets become part of addresses. */
const secret = (bytes = 32) => randomBytes(bytes).toString('hex')

/** What is no secret of 32 bytes. */
const others: Readonly<Record<string, () => string>> = {
  API_PORT: () => '8080',
  S3_PORT: () => '8333',
  MAIL_PORT: () => '8025',
  MASTER_KEYS: () => `first:${randomBytes(32).toString('base64')}`,
  S3_ACCESS_KEY_ID: () => secret(10),
  SERVICE_CLIENT_ID: () => randomUUID(),
}

const example = readFileSync(new URL('../../.env.example', import.meta.url), 'utf8')
process.stdout.write(example.replaceAll(/^(\w+)=$/gm, (_, name: string) => `${name}=${(others[name] ?? secret)()}`))
