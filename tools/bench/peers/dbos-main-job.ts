import { DBOS } from '@dbos-inc/dbos-sdk'
import fastify from 'fastify'
import { generateKeyPair, jwtVerify, SignJWT } from 'jose'
import { randomBytes, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import { Pool } from 'undici'
import { v7 } from 'uuid'
import { freePort } from '../../../embedded/children/free-port.ts'
import { objectStore } from '../../../embedded/object-store/start-object-store.ts'
import { startPostgres } from '../../../embedded/postgres/start-postgres.ts'
import { provider } from '../../../embedded/provider/start-provider.ts'
import { startStandIns } from '../../../embedded/stand-ins/start-stand-ins.ts'
import { createPool } from '../../../platform/database/database.ts'
import { connectObjectStore } from '../../../platform/storage/object-store.ts'
import { answerJobs, type PeerServiceDone, type PeerServiceJob } from '../load/jobs.ts'
import { connectProvider } from '../load/provider-calls.ts'
import { post } from '../load/webhook-jobs.ts'

/*
 * The main job with @dbos-inc/dbos-sdk, as its documentation shows: a workflow whose steps are recorded in Postgres. It
 * has no event store, read models, encryption of personal data, channels or signed events. It checks the token and the
 * consent, stores the photograph and the provider's answer in the same object store, and signs the webhook.
 */

interface Asked {
  readonly patient_id: string
  readonly external_reference: string
  readonly images: readonly { readonly mime_type: string; readonly data: string }[]
}

interface Input {
  readonly id: string
  readonly patientId: string
  readonly reference: string
  readonly imageKey: string
}

const bucket = 'images'
const mostBytes = 64 * 1024 * 1024

answerJobs(serve)

async function serve({ folder, patientIds, webhookUrl }: PeerServiceJob): Promise<PeerServiceDone> {
  const secret = () => randomBytes(16).toString('hex')
  const [accessKeyId, secretAccessKey, login, password] = ['peer', secret(), 'peer', secret()] as const
  const stores = objectStore({
    dataDir: join(folder, 'object-store'),
    port: await freePort(),
    accessKeyId,
    secretAccessKey,
    bucket,
  })
  const simulator = provider({
    dataDir: join(folder, 'provider'),
    port: await freePort(),
    login,
    password,
    controlSecret: secret(),
  })
  const [postgres] = await Promise.all([
    startPostgres({
      dataDir: join(folder, 'postgres'),
      port: await freePort(),
      password: secret(),
      databases: ['peer'],
    }),
    startStandIns([stores, simulator], {}),
  ])
  const { endpoint } = stores.at(stores.port)
  const objects = connectObjectStore({
    endpoint,
    region: 'us-east-1',
    bucket,
    accessKeyId,
    secretAccessKey,
    now: () => new Date(),
  })
  const calls = await connectProvider({ ...simulator.at(simulator.port), login, password })
  const database = createPool({ url: postgres.url('peer'), max: 10 })
  await database.query('create table consents (patient_id uuid primary key, decision text not null)')
  await database.query("insert into consents select unnest($1::uuid[]), 'granted'", [patientIds])
  const webhook = new Webhook(randomBytes(24), { format: 'raw' })
  const { origin, pathname } = new URL(webhookUrl)
  const receiver = new Pool(origin, { connections: 64, pipelining: 1 })

  async function requireConsent(patientId: string): Promise<void> {
    const { rows } = await database.query<{ decision: string }>({
      name: 'consent',
      text: 'select decision from consents where patient_id = $1',
      values: [patientId],
    })
    if (rows[0]?.decision !== 'granted') throw new Error(`patient ${patientId} has not consented`)
  }

  const send = DBOS.registerWorkflow(
    (body: string) =>
      DBOS.runStep(
        async () => {
          const [id, sentAt] = [v7(), new Date()]
          const headers = {
            'content-type': 'application/json',
            'webhook-id': id,
            'webhook-timestamp': String(Math.floor(sentAt.getTime() / 1000)),
            'webhook-signature': webhook.sign(id, sentAt, body),
            'webhook-event-type': 'assessment.completed',
          }
          await post(receiver, pathname, { headers, body })
        },
        { name: 'post' },
      ),
    { name: 'send' },
  )
  const assess = DBOS.registerWorkflow(
    async ({ id, patientId, reference, imageKey }: Input) => {
      const consented = () => requireConsent(patientId)
      await DBOS.runStep(consented, { name: 'consent' })
      const caseId = await DBOS.runStep(calls.openCase, { name: 'case' })
      await DBOS.runStep(async () => calls.sendImage(caseId, new Uint8Array(await objects.get(imageKey))), {
        name: 'image',
      })
      await DBOS.runStep(consented, { name: 'consent-before-process' })
      const checksum = await DBOS.runStep(() => calls.process(caseId), { name: 'process' })
      const result = await DBOS.runStep(() => calls.result(caseId, checksum), { name: 'result' })
      const raw = Buffer.from(JSON.stringify(result))
      await DBOS.runStep(() => objects.put(`${id}/answer`, raw, 'application/json'), { name: 'answer' })
      const record = {
        id,
        status: 'completed',
        patient_id: patientId,
        external_reference: reference,
        result,
        completed_at: new Date().toISOString(),
      }
      await DBOS.startWorkflow(send, { workflowID: `${id}-webhook` })(JSON.stringify(record))
      return record
    },
    { name: 'assess' },
  )
  DBOS.setConfig({
    name: 'peer',
    systemDatabaseUrl: postgres.url('peer'),
    systemDatabasePoolSize: 20,
    logLevel: 'error',
  })
  await DBOS.launch()

  const { privateKey, publicKey } = await generateKeyPair('EdDSA')
  const token = await new SignJWT({ scope: 'assessments:write' })
    .setProtectedHeader({ alg: 'EdDSA' })
    .setExpirationTime('12h')
    .sign(privateKey)
  const service = fastify({ bodyLimit: mostBytes })
  service.post<{ Body: Asked }>('/v1/clinical-api/assessments', async (request, reply) => {
    await jwtVerify(request.headers.authorization?.replace('Bearer ', '') ?? '', publicKey)
    const { patient_id: patientId, external_reference: reference, images } = request.body
    const [image] = images
    if (image === undefined) return reply.code(400).send({})
    const id = v7()
    const imageKey = `${id}/image`
    await objects.put(imageKey, Buffer.from(image.data, 'base64'), image.mime_type)
    const workflowID = String(request.headers['idempotency-key'] ?? randomUUID())
    const handle = await DBOS.startWorkflow(assess, { workflowID })({ id, patientId, reference, imageKey })
    return reply.code(201).send(await handle.getResult())
  })
  return { baseUrl: await service.listen({ host: '127.0.0.1', port: 0 }), token }
}
