import { credentials, Metadata } from '@grpc/grpc-js'
import { backoffMs, pause } from '../../platform/kit/backoff.ts'
import type { NodeAddress, NodePreference } from '../../platform/kit/event-store-address.ts'
import { gossip, GossipClient, shared } from '../../platform/kit/event-store-client.ts'
import type { OpenChannel } from './node-channel.ts'

export interface Discovery {
  /** Nodes that are asked for the members of the cluster. */
  readonly seeds: readonly NodeAddress[]
  readonly preference: NodePreference
  /** Accepts only a node of the preference. Otherwise any node that serves reads is better than none. */
  readonly isStrict: boolean
  /** Time limit of one question, in milliseconds. */
  readonly gossipTimeoutMs: number
  readonly openChannel: OpenChannel
  readonly signal: AbortSignal
}

export interface Discovered {
  readonly node: NodeAddress
  /** All members that the answer names. They are asked too the next time. */
  readonly members: readonly NodeAddress[]
}

interface Member {
  readonly node: NodeAddress
  readonly state: number
}

const backoff = { firstMs: 100, mostMs: 1_000 }
const { VNodeState } = gossip.MemberInfo
const preferred: Readonly<Record<NodePreference, readonly number[]>> = {
  leader: [VNodeState.LEADER],
  follower: [VNodeState.FOLLOWER],
  readonlyreplica: [VNodeState.READONLYREPLICA, VNodeState.READONLYLEADERLESS, VNodeState.PREREADONLYREPLICA],
  random: [],
}
/** States of nodes that serve reads. */
const serving = [...preferred.leader, ...preferred.follower, ...preferred.readonlyreplica]

/**
 * Asks all seeds at once for the members of their cluster, until one of them names a node to connect to. Does not give
 * up: a cluster may be without a leader for as long as an operator needs.
 * @throws the signal's reason
 */
export async function discoverNode(discovery: Discovery): Promise<Discovered> {
  for (let round = 1; ; round += 1) {
    discovery.signal.throwIfAborted()
    const found = await askAll(discovery)
    if (found !== undefined) return found
    await pause(backoffMs(backoff, round), discovery.signal)
  }
}

async function askAll({ seeds, preference, isStrict, gossipTimeoutMs, openChannel, signal }: Discovery) {
  const over = new AbortController()
  const questions = AbortSignal.any([signal, over.signal])
  const isWanted = ({ state }: Member) =>
    preference === 'random' ? serving.includes(state) : preferred[preference].includes(state)
  try {
    const answers = seeds.map((seed) => membersAt(openChannel, seed, gossipTimeoutMs, questions))
    // The first answer with a wanted node ends the round: a node that hangs must not delay the others.
    const wanted = answers.map(async (answer) => chosen(await answer, isWanted) ?? Promise.reject(new Error('none')))
    const first = await Promise.any(wanted).catch(() => undefined)
    if (first !== undefined || isStrict) return first
    const all = await Promise.allSettled(answers)
    const members = all.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
    return chosen(members, ({ state }) => serving.includes(state))
  } finally {
    over.abort()
  }
}

function chosen(members: readonly Member[], isWanted: (member: Member) => boolean): Discovered | undefined {
  const candidates = members.filter(isWanted)
  const choice = candidates[Math.floor(Math.random() * candidates.length)]
  return choice && { node: choice.node, members: members.map(({ node }) => node) }
}

/** The living members of the cluster, as one node knows them. The connection for it ends with the answer. */
async function membersAt(
  openChannel: OpenChannel,
  seed: NodeAddress,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Member[]> {
  const channel = openChannel(seed)
  const client = new GossipClient('', credentials.createInsecure(), { channelOverride: channel.channel })
  try {
    return await new Promise((resolve, reject) => {
      const deadline = Date.now() + timeoutMs
      const call = client.read(new shared.Empty(), new Metadata(), { deadline }, (error, answer) => {
        if (error === null) resolve(answer.getMembersList().flatMap(memberOf))
        else reject(error)
      })
      signal.addEventListener('abort', () => call.cancel(), { once: true })
    })
  } finally {
    channel.close()
  }
}

function memberOf(member: gossip.MemberInfo): Member[] {
  const endPoint = member.getHttpEndPoint()
  if (!member.getIsAlive() || endPoint === undefined) return []
  return [{ node: { host: endPoint.getAddress(), port: endPoint.getPort() }, state: member.getState() }]
}
