import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client'
import { startEventStore, type NodeUser } from 'embedded-eventstore'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const operator: NodeUser = { login: 'operator', password: randomUUID(), groups: ['$admins'] }
/** An account may have any password. Each client must encode and decode it. */
const consumer: NodeUser = { login: 'consumer@clinic', password: 'p@ss:w/ö %41?#&+=rd', groups: [] }

type Env = Readonly<Record<string, string>>

/** An event store with accounts, as far as a consumer sees that of the platform. */
export interface ChannelStore {
  readonly client: EventStoreDBClient
  newChannel(): Promise<Channel>
  restart(): Promise<void>
  stop(): Promise<void>
}

export interface Channel {
  readonly name: string
  /** The settings of an example, with the account that may read the channel and do nothing else. */
  readonly consumer: Env
  readonly operator: Env
  /** Appends events of an organisation. Returns the ids of those that the examples count. */
  publish(count: number, orgId?: string): Promise<string[]>
}

const countedTypes = ['assessment.completed', 'assessment.failed', 'assessment.reviewed']
/** Examples ignore the last one. */
const types = [...countedTypes, 'assessment.of_a_later_version']

export async function startChannelStore(): Promise<ChannelStore> {
  const dataDir = await mkdtemp(join(tmpdir(), 'examples-'))
  const users = [operator, consumer]
  const admins = ['$admins']
  const closed = { $r: admins, $w: admins, $d: admins, $mr: admins, $mw: admins }
  const settings = { $userStreamAcl: closed, $systemStreamAcl: closed }
  let node = await startEventStore({ dataDir, users, settings })
  let client = EventStoreDBClient.connectionString(node.url)
  return {
    get client() {
      return client
    },
    async newChannel() {
      const name = `channel-${randomUUID()}.events`
      const acl = { ...closed, $r: ['$admins', consumer.login] }
      await client.appendToStream(`$$${name}`, jsonEvent({ type: '$metadata', data: { $acl: acl } }))
      const envOf = ({ login, password }: NodeUser): Env => ({
        CHANNEL: name,
        EVENTSTORE_ADDRESS: `localhost:${node.port}`,
        EVENTSTORE_LOGIN: login,
        EVENTSTORE_PASSWORD: password,
        EVENTSTORE_CA_FILE: join(dataDir, 'tls', 'certificate.pem'),
      })
      let place = 0
      return {
        name,
        consumer: envOf(consumer),
        operator: envOf(operator),
        async publish(count, orgId = randomUUID()) {
          const events = Array.from({ length: count }, () => endOfAssessment(place++, orgId))
          await client.appendToStream(name, events)
          return events.flatMap(({ id, type }) => (countedTypes.includes(type) ? [id] : []))
        },
      }
    },
    async restart() {
      await client.dispose()
      await node.stop()
      node = await startEventStore({ dataDir, users, settings, port: node.port })
      client = EventStoreDBClient.connectionString(node.url)
    },
    async stop() {
      await client.dispose()
      await node.stop()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}

function endOfAssessment(place: number, orgId: string) {
  const id = randomUUID()
  const type = types[place % types.length] ?? ''
  return jsonEvent({ id, type, data: { event_id: id, event_type: type, org_id: orgId, assessment_id: randomUUID() } })
}
