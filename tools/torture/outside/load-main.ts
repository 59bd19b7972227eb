import { exitWhenParentGone } from '../../../embedded/children/parent-watch.ts'
import { textAt } from '../../../app/demo/members.ts'
import { createApiClient, requestToken } from '../../../test/support/raw-api.ts'
import { SeededRandom } from 'embedded-eventstore/seeded-random'
import { createConsentTerms } from '../../../test/support/main-job.ts'
import { addedUp, DurableLines } from '../acknowledged.ts'
import { createRoles } from './administrator.ts'
import { PatientClient } from './api.ts'
import { setPolicy } from './clinician.ts'
import { createEraser, Eraser } from './eraser.ts'
import { createRules } from './messenger.ts'
import { User } from './user.ts'

/** The settings of the process, as JSON in `TORTURE_LOAD`. */
export interface LoadOrder {
  readonly baseUrl: string
  readonly clientId: string
  readonly clientSecret: string
  readonly orgId: string
  readonly productId: string
  readonly adminSecret: string
  readonly receiverUrl: string
  /** File of the acknowledged writes. */
  readonly log: string
  /** File of the answers with personal content. */
  readonly seen: string
  readonly seed: number
  readonly users: number
}

/*
 * The load in its own process. Users write until SIGTERM and finish their work in hand. The last line contains the
 * totals of all requests.
 */
exitWhenParentGone(() => process.exit(1))
const order = JSON.parse(process.env['TORTURE_LOAD'] ?? '') as LoadOrder
const secrets = { client_id: order.clientId, client_secret: order.clientSecret }
let isOver = false
process.on('SIGTERM', () => {
  isOver = true
})

const log = new DurableLines(order.log)
const seen = new DurableLines(order.seen)
const token = textAt((await requestToken(order.baseUrl, secrets)).body, 'access_token')
const api = createApiClient(order.baseUrl, token)
const terms = await createConsentTerms(api, order.orgId)
const administered = await createRoles(api, order.orgId, order.adminSecret)
await setPolicy(api, order.orgId)
const client = new PatientClient(order.baseUrl, log)
await client.logIn(secrets)
await createRules(client)
const eraser = new PatientClient(order.baseUrl, log)
await eraser.logIn(await createEraser(api, order.orgId, order.adminSecret))
process.stdout.write(`${JSON.stringify({ ready: true })}\n`)

const users = Array.from({ length: order.users }, (_, index) => {
  const name = `user${index + 1}`
  const random = new SeededRandom(order.seed + 7_919 * (index + 1))
  return new User({
    name,
    client,
    random,
    seen,
    terms,
    administered,
    organisationId: order.orgId,
    productId: order.productId,
    receiverUrl: order.receiverUrl,
    isSubscriber: index < 3,
    isOver: () => isOver,
  })
})
const random = new SeededRandom(order.seed)
const erasing = new Eraser({ client, eraser, random, terms, isOver: () => isOver })
await Promise.all([...users.map((user) => user.work()), erasing.work()])
log.close()
seen.close()
process.stdout.write(`${JSON.stringify(addedUp(client.summary(), eraser.summary()))}\n`, () => process.exit(0))
