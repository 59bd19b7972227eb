import { EventStoreDBClient } from '@eventstore/db-client'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseError } from 'pg'
import { expect, test } from 'vitest'
import { requireBucket } from '../../app/bucket-check.ts'
import { clearly } from '../../app/start-errors.ts'
import { startEventStore } from 'embedded-eventstore'
import { openTestStore, visitCategory } from '../engine/store/fixtures.ts'
import { startTlsFront } from '../support/tls-front.ts'

test.each([
  ['53100', 'the server of DATABASE_URL has no room on its disk (53100)'],
  ['53300', 'the server of DATABASE_URL does not answer (53300)'],
  ['28P01', 'the server of DATABASE_URL does not admit its user with its password (28P01)'],
])('Postgres error %s names its server and the missing resource', async (code, message) => {
  const error = new DatabaseError('could not', 9, 'error')
  error.code = code
  await expect(clearly('DATABASE_URL', () => Promise.reject(error))).rejects.toThrow(message)
})

const account = { s3Region: 'eu-central-1', s3Bucket: 'images', s3AccessKeyId: 'a', s3SecretAccessKey: 'b' }

test('an untrusted certificate is named with its variable and what to set', async () => {
  const front = await startTlsFront('http://127.0.0.1:1')
  try {
    const { host } = new URL(front.url)
    await expect(requireBucket({ ...account, s3Endpoint: front.url })).rejects.toThrow(
      /^the certificate of the server of S3_ENDPOINT is not trusted \([A-Z_]+\): set NODE_EXTRA_CA_CERTS to the file of its authority$/,
    )
    await using store = await openTestStore({
      url: `esdb://user:password@${host}?tls=true`,
      catalogue: visitCategory().catalogue,
      // A busy process needs a while for the first handshake.
      readBudgetMs: 3_000,
    })
    await expect(clearly('ESDB_URL', () => store.head({ streamPrefixes: [] }))).rejects.toThrow(
      /^the certificate of the server of ESDB_URL is not trusted \([A-Z_]+\): set tlsCAFile in ESDB_URL, or NODE_EXTRA_CA_CERTS, to the file/,
    )
  } finally {
    await front.close()
  }
})

test('the start names the right that the user of the event store lacks, and works with it', async ({
  onTestFinished,
}) => {
  const folder = await mkdtemp(join(tmpdir(), 'start-errors-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const users = [
    { login: 'admin', password: 'of the administrator', groups: ['$admins'] },
    { login: 'platform', password: 'of the platform', groups: ['platform'] },
    { login: 'operator', password: 'of the operator', groups: ['$ops'] },
  ]
  const node = await startEventStore({ dataDir: folder, users })
  onTestFinished(() => node.stop())
  const urlOf = (login: string, password: string) =>
    node.url.replace(/\/\/[^@]*@/, `//${login}:${encodeURIComponent(password)}@`)
  const { catalogue } = visitCategory()
  const startOf = async (login: string, password: string) => {
    await using store = await openTestStore({ url: urlOf(login, password), catalogue })
    return await clearly('ESDB_URL', () => store.head({ streamPrefixes: [] }))
  }
  const missing =
    'the user of ESDB_URL lacks a right (the event store refused: reading $all): make it a member of $admins, or name one of its groups in the access list of $all'
  await expect(startOf('platform', 'of the platform')).rejects.toThrow(missing)
  await expect(startOf('operator', 'of the operator')).rejects.toThrow(missing)
  await expect(startOf('platform', 'wrong')).rejects.toThrow(
    'the server of ESDB_URL does not admit its user with its password',
  )

  const administrator = EventStoreDBClient.connectionString(urlOf('admin', 'of the administrator'))
  await administrator.setStreamMetadata('$all', { acl: { readRoles: ['$admins', 'platform'] } })
  await administrator.dispose()
  await expect(startOf('platform', 'of the platform')).resolves.toBeDefined()
  await expect(startOf('operator', 'of the operator')).rejects.toThrow(missing)
})

test.each([
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'is not trusted (DEPTH_ZERO_SELF_SIGNED_CERT): set sslrootcert in DATABASE_URL'],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'is not trusted (UNABLE_TO_VERIFY_LEAF_SIGNATURE): set sslrootcert'],
  ['CERT_HAS_EXPIRED', 'is not valid now (CERT_HAS_EXPIRED): renew it'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'is for another name (ERR_TLS_CERT_ALTNAME_INVALID): set DATABASE_URL'],
])('a certificate refused with %s says what to set', async (code, message) => {
  const error = Object.assign(new Error('x'), { code })
  for (const thrown of [error, new AggregateError([error])])
    await expect(clearly('DATABASE_URL', () => Promise.reject(thrown))).rejects.toThrow(
      `the certificate of the server of DATABASE_URL ${message}`,
    )
})
