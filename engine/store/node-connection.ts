import { finished, type Duplex, type Readable } from 'node:stream'
import { credentials, Metadata, type CallOptions } from '@grpc/grpc-js'
import { v4 } from 'uuid'
import type { EventStoreAddress, NodeAddress } from '../../platform/kit/event-store-address.ts'
import {
  CancelledError,
  NotLeaderError,
  StreamsClient,
  UnavailableError,
} from '../../platform/kit/event-store-client.ts'
import { commandErrorOf } from './client-errors.ts'
import { discoverNode } from './discovery.ts'
import { channelsOf, type NodeChannel, type OpenChannel } from './node-channel.ts'

/** A call of the streams service whose messages are read or written one by one. */
type StreamsCall = (Readable | Duplex) & { cancel(): void }

/** Makes a call. Its messages bypass the decoder of the official client. */
export type Begin<Call> = (service: StreamsClient, metadata: Metadata, options: CallOptions) => Call

export interface ConnectionRules {
  /** Connects to the leader only. Other nodes may answer from an old log, and commands decide by the answers. */
  readonly isLeaderOnly: boolean
}

/** One node, with the open calls on it. */
interface Attachment {
  readonly channel: NodeChannel
  readonly service: StreamsClient
  readonly calls: Set<StreamsCall>
  /** The call that all appends share. */
  lasting: StreamsCall | undefined
  /** When a call that reports it last got an answer, by `performance.now()`. */
  heardAtMs: number
}

/**
 * Whether a node that was silent so long is left. This ends all its calls, so the silence of a moment is no reason: a call
 * may have little of its time left. `usualMs` is how long such a call waits with all its time.
 */
export function isLongSilence(waitedMs: number, usualMs: number): boolean {
  return waitedMs >= usualMs / 2
}

/** How long a call waits for a node, in milliseconds. The search goes on. */
const mostWaitMs = 10_000
/** How long a call waits for an answer once the program stops, in milliseconds. */
const hurriedMs = 1_000
/** grpc-js's own words for a call that this side has cancelled. */
const cancelledHere = 'Cancelled on client'
const mostSeeds = 32

/**
 * A connection to one node of the event store at a time. When the node is away, is no leader, or does not answer, the
 * connection goes to the node that the cluster then names. All calls on the old node end: each caller repeats its own.
 */
export class NodeConnection {
  readonly #address: EventStoreAddress
  readonly #rules: ConnectionRules
  readonly #openChannel: OpenChannel
  readonly #closing = new AbortController()
  readonly #hurry = new AbortController()
  readonly #attachments = new WeakMap<StreamsCall, Attachment>()
  /** What gives up each answer that is awaited. */
  readonly #awaited = new Set<() => void>()
  readonly #name: string
  #attached: Promise<Attachment> | undefined
  #current: Attachment | undefined
  /** The leader that a node named when it refused a call. */
  #named: NodeAddress | undefined
  #members: readonly NodeAddress[] = []

  /** Connects lazily: sends nothing before the first call. @throws if a certificate file cannot be read. */
  constructor(address: EventStoreAddress, rules: ConnectionRules) {
    this.#address = address
    this.#rules = rules
    this.#openChannel = channelsOf(address)
    this.#name = address.connectionName ?? v4()
    this.#hurry.signal.addEventListener('abort', () => {
      const earlier = [...this.#awaited]
      setTimeout(() => {
        for (const giveUp of earlier) this.#giveUp(giveUp)
      }, hurriedMs).unref()
    })
  }

  /** Opens a call. @throws if no node is found within ten seconds. */
  async open<Call extends StreamsCall>(begin: Begin<Call>, { requiresLeader = false } = {}): Promise<Call> {
    return this.#begun(await this.#attachment(), begin, requiresLeader)
  }

  /** The one lasting call of the current node, opened if there is none. All callers must give the same `begin`. */
  async lasting<Call extends StreamsCall>(begin: Begin<Call>): Promise<Call> {
    const attachment = await this.#attachment()
    // Only calls of this `begin` are kept here.
    if (attachment.lasting !== undefined) return attachment.lasting as Call
    const call = this.#begun(attachment, begin, false)
    attachment.lasting = call
    return call
  }

  /** A call got an answer. */
  heard(call: StreamsCall): void {
    const attachment = this.#attachments.get(call)
    if (attachment !== undefined) attachment.heardAtMs = performance.now()
  }

  /**
   * Leaves the node of a call that got no answer, if it is still the current one. With `unlessHeardSinceMs`, a node that
   * has answered another call since then is only slow, and stays.
   */
  leaveNodeOf(call: StreamsCall, unlessHeardSinceMs = Infinity): void {
    const attachment = this.#attachments.get(call)
    if (attachment !== undefined && attachment.heardAtMs < unlessHeardSinceMs) this.#leave(attachment)
  }

  /** Whether calls wait for no node, and failed ones are not repeated. */
  get isHurried(): boolean {
    return this.#hurry.signal.aborted
  }

  /** Calls back when an answer is overdue: after this time, or soon once the program stops. Returns how to cancel. */
  readonly whenOverdue = (withinMs: number, giveUp: () => void): (() => void) => {
    const limitMs = this.isHurried ? Math.min(withinMs, hurriedMs) : withinMs
    const timer = setTimeout(() => this.#giveUp(giveUp), limitMs)
    this.#awaited.add(giveUp)
    return () => {
      clearTimeout(timer)
      this.#awaited.delete(giveUp)
    }
  }

  /** After a standstill of the process, timers run before the answers that have arrived. So those are read first. */
  #giveUp(giveUp: () => void): void {
    setImmediate(() => {
      if (this.#awaited.has(giveUp)) giveUp()
    })
  }

  /** After this time and later, no call waits for a node that is not found, and each waits a second for an answer. */
  hurry(afterMs: number): void {
    if (afterMs <= 0) this.#hurry.abort()
    else setTimeout(() => this.#hurry.abort(), afterMs).unref()
  }

  close(): void {
    this.#hurry.abort()
    this.#closing.abort(new Error('the connection was closed'))
    if (this.#current !== undefined) this.#leave(this.#current)
  }

  #begun<Call extends StreamsCall>(attachment: Attachment, begin: Begin<Call>, requiresLeader: boolean): Call {
    const call = begin(attachment.service, this.#metadata(requiresLeader), { deadline: Infinity })
    attachment.calls.add(call)
    this.#attachments.set(call, attachment)
    finished(call, (error) => {
      attachment.calls.delete(call)
      if (attachment.lasting === call) attachment.lasting = undefined
      if (error instanceof Error) this.#judge(attachment, error)
    })
    return call
  }

  #metadata(requiresLeader: boolean): Metadata {
    const metadata = new Metadata()
    metadata.set('connection-name', this.#name)
    if (requiresLeader || this.#rules.isLeaderOnly) metadata.set('requires-leader', 'true')
    const { isEncrypted, user, password } = this.#address
    // A password is sent by TLS only.
    if (isEncrypted && user !== undefined) {
      metadata.set('authorization', `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`)
    }
    return metadata
  }

  /** Whether the end of a call means that its node is of no use any more. */
  #judge(attachment: Attachment, error: Error): void {
    const { message } = error
    const failure = commandErrorOf(error)
    if (failure instanceof NotLeaderError) {
      const { address: host, port } = failure.leader
      this.#leave(attachment, host !== '' && port > 0 ? { host, port } : undefined)
    } else if (failure instanceof UnavailableError || isOfNoLeader(failure)) this.#leave(attachment)
    else if (failure instanceof CancelledError && !message.includes(cancelledHere)) this.#leave(attachment)
  }

  #leave(attachment: Attachment, named?: NodeAddress): void {
    if (this.#current !== attachment) return
    this.#current = undefined
    this.#attached = undefined
    this.#named = named
    // Ending a call inside the handler of its own message may hang grpc-js.
    setImmediate(() => {
      for (const call of attachment.calls) call.cancel()
      attachment.channel.close()
    })
  }

  async #attachment(): Promise<Attachment> {
    this.#closing.signal.throwIfAborted()
    if (this.#attached === undefined) {
      this.#attached = this.#attach()
      // Nobody waits for the search when each caller has given up.
      this.#attached.catch(() => (this.#attached = undefined))
    }
    if (this.#current !== undefined) return this.#current
    const { promise: timeUp, reject } = Promise.withResolvers<never>()
    const giveUp = () => reject(new Error('no node of the event store was found'))
    // A node that needs no search is there before a timer ends.
    const timer = setTimeout(giveUp, this.isHurried ? 0 : mostWaitMs)
    this.#hurry.signal.addEventListener('abort', giveUp)
    try {
      return await Promise.race([this.#attached, timeUp])
    } finally {
      clearTimeout(timer)
      this.#hurry.signal.removeEventListener('abort', giveUp)
    }
  }

  async #attach(): Promise<Attachment> {
    const node = await this.#nextNode()
    this.#closing.signal.throwIfAborted()
    const channel = this.#openChannel(node)
    const service = new StreamsClient('', credentials.createInsecure(), { channelOverride: channel.channel })
    this.#current = { channel, service, calls: new Set(), lasting: undefined, heardAtMs: 0 }
    return this.#current
  }

  async #nextNode(): Promise<NodeAddress> {
    const named = this.#named
    this.#named = undefined
    if (named !== undefined) return named
    const { hosts, isCluster, nodePreference, gossipTimeoutMs } = this.#address
    const [only] = hosts
    if (!isCluster && only !== undefined) return only
    const { node, members } = await discoverNode({
      seeds: distinct([...hosts, ...this.#members]),
      preference: this.#rules.isLeaderOnly ? 'leader' : nodePreference,
      isStrict: this.#rules.isLeaderOnly,
      gossipTimeoutMs,
      openChannel: this.#openChannel,
      signal: this.#closing.signal,
    })
    this.#members = members
    return node
  }
}

/** The refusal of a follower that knows no leader. */
function isOfNoLeader(error: Error): boolean {
  return (
    'metadata' in error && error.metadata instanceof Metadata && error.metadata.get('exception')[0] === 'not-leader'
  )
}

function distinct(nodes: readonly NodeAddress[]): NodeAddress[] {
  return [...new Map(nodes.map((node) => [`${node.host} ${node.port}`, node])).values()].slice(0, mostSeeds)
}
