import { once } from 'node:events'
import {
  connect,
  constants,
  createServer,
  type ClientHttp2Session,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2'
import type { AddressInfo } from 'node:net'
import { Readable, Transform } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { gossip, streams } from '../../../platform/kit/event-store-client.ts'
import { openLine, type Line } from '../../faults/stage/line.ts'

/** How the cluster fails. */
export type ClusterFault =
  /** The bytes of all open connections to the leader are dropped. New connections work. */
  | { readonly kind: 'silence' }
  /**
   * The leader answers pings, and leaves appends unanswered and open reads silent. Gossip names the other node. With
   * `isTaken` the appends take effect.
   */
  | { readonly kind: 'hang'; readonly isTaken: boolean; readonly isLate: boolean }
  /**
   * No node leads: reads are answered; appends and reads of the leader are refused, or not answered. `next` leads
   * afterwards.
   */
  | { readonly kind: 'quorum'; readonly isRefusing: boolean; readonly isLate: boolean; readonly next: Place }
  /** All subscriptions end. New ones are accepted and never served, as by a node that has just returned. */
  | { readonly kind: 'unconfirmed' }

/** One of the two nodes. */
export type Place = 0 | 1

const otherOf = (place: Place): Place => (place === 0 ? 1 : 0)
const writes = /\/event_store\.client\.streams\.Streams\/(?:BatchAppend|Append|Delete|Tombstone)$/
const readPath = '/event_store.client.streams.Streams/Read'
const gossipPath = '/event_store.client.gossip.Gossip/Read'
/** A message begins with its length. */
const prefixBytes = 5
const { LEADER, FOLLOWER, UNKNOWN } = gossip.MemberInfo.VNodeState

/** One direction of a call. What arrives while it is held waits, until it is released or the call ends. */
class Gate extends Transform {
  #waiting: (() => void) | undefined
  #isHeld = false

  get isHeld(): boolean {
    return this.#isHeld
  }

  hold(): void {
    this.#isHeld = true
  }

  release(): void {
    this.#isHeld = false
    this.#waiting?.()
  }

  override _transform(chunk: Buffer, _: BufferEncoding, done: (error: null, chunk: Buffer) => void): void {
    this.#pass(() => done(null, chunk))
  }

  override _flush(done: () => void): void {
    this.#pass(done)
  }

  #pass(go: () => void): void {
    if (!this.#isHeld) return go()
    this.#waiting = () => {
      this.#waiting = undefined
      go()
    }
  }
}

/** An open call of a client at one node. */
interface Call {
  readonly place: Place
  readonly caller: ServerHttp2Stream
  readonly isWrite: boolean
  readonly asked: Gate
  readonly answered: Gate
  /** Ends it on both sides. */
  end: () => void
}

/**
 * Two nodes of a cluster, as clients see them: two addresses of one embedded node, which has the log of both. Each
 * answers gossip, refuses what only the leader may answer, and fails on demand. They fail as HTTP/2 servers, so
 * connections, pings and flow control are real.
 */
export class PretendedCluster {
  /** The connection string for clients. */
  readonly url: string
  readonly #servers: readonly Http2Server[]
  readonly #lines: readonly [Line, Line]
  readonly #calls = new Set<Call>()
  #leader: Place | undefined = 0
  #hung: Place | undefined
  #isRefusing = true
  #isConfirming = true

  private constructor(servers: readonly Http2Server[], lines: readonly [Line, Line]) {
    this.#servers = servers
    this.#lines = lines
    this.url = `esdb://${lines.map(({ port }) => `127.0.0.1:${port}`).join(',')}?tls=false`
  }

  static async start(nodePort: number): Promise<PretendedCluster> {
    const servers = [createServer(), createServer()]
    const ports: number[] = []
    for (const server of servers) {
      await once(server.listen(0, '127.0.0.1'), 'listening')
      ports.push((server.address() as AddressInfo).port)
    }
    const [first = 0, second = 0] = ports
    const cluster = new PretendedCluster(servers, [await openLine(first), await openLine(second)])
    for (const [index, server] of servers.entries()) cluster.#serve(server, index === 0 ? 0 : 1, nodePort)
    return cluster
  }

  /** Begins a fault. Returns the function that ends it: the store has returned. */
  begin(fault: ClusterFault): () => void {
    if (fault.kind === 'silence') {
      const line = this.#lines[this.#leader ?? 0]
      line.silence()
      return () => line.endSilence()
    }
    if (fault.kind === 'unconfirmed') return this.#leaveUnconfirmed()
    return fault.kind === 'hang' ? this.#hang(fault) : this.#loseQuorum(fault)
  }

  async close(): Promise<void> {
    await Promise.all(this.#lines.map((line) => line.close()))
    for (const server of this.#servers) server.close()
  }

  #leaveUnconfirmed(): () => void {
    this.#isConfirming = false
    for (const call of this.#calls) if (!call.isWrite) call.end()
    return () => void (this.#isConfirming = true)
  }

  #hang({ isTaken, isLate }: { readonly isTaken: boolean; readonly isLate: boolean }): () => void {
    const place = this.#leader ?? 0
    this.#hung = place
    this.#leader = otherOf(place)
    const held = [...this.#calls].filter((call) => call.place === place)
    for (const call of held) {
      call.answered.hold()
      if (call.isWrite && !isTaken) call.asked.hold()
    }
    return () => {
      this.#hung = undefined
      this.#letGo(isLate)
    }
  }

  #loseQuorum({ isRefusing, isLate, next }: Extract<ClusterFault, { kind: 'quorum' }>): () => void {
    this.#leader = undefined
    this.#isRefusing = isRefusing
    for (const call of this.#calls) {
      if (!call.isWrite) continue
      if (isRefusing) call.caller.close(constants.NGHTTP2_REFUSED_STREAM)
      else call.asked.hold()
    }
    return () => {
      this.#leader = next
      this.#letGo(isLate)
    }
  }

  /** What was held arrives now, also of callers that have given up. Or its calls end. */
  #letGo(isLate: boolean): void {
    for (const call of this.#calls) {
      const { caller, asked, answered } = call
      if (!asked.isHeld && !answered.isHeld) continue
      if (!isLate) call.end()
      asked.release()
      answered.release()
      if (caller.closed) {
        asked.end()
        this.#calls.delete(call)
      }
    }
  }

  #serve(server: Http2Server, place: Place, nodePort: number): void {
    server.on('session', (session) => {
      session.on('error', () => undefined)
      const node = connect(`http://127.0.0.1:${nodePort}`)
      node.on('error', () => undefined)
      node.on('close', () => session.destroy())
      session.on('close', () => node.destroy())
      session.on('stream', (caller: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
        caller.on('error', () => undefined)
        if (!node.destroyed) this.#answer(caller, headers, node, place)
      })
    })
  }

  #answer(caller: ServerHttp2Stream, headers: IncomingHttpHeaders, node: ClientHttp2Session, place: Place): void {
    const path = headers[':path'] ?? ''
    if (path === gossipPath) return void this.#gossip(caller, headers, node)
    const isWrite = writes.test(path)
    const end = () => caller.close(constants.NGHTTP2_CANCEL)
    const call: Call = { place, caller, isWrite, asked: new Gate(), answered: new Gate(), end }
    if (isWrite || headers['requires-leader'] === 'true') {
      if (this.#leader === undefined && this.#isRefusing) return refuse(caller, unready)
      if (this.#leader === undefined) call.asked.hold()
      else if (this.#hung === place) {
        if (isWrite) call.asked.hold()
      } else if (this.#leader !== place) return refuse(caller, this.#notLeader(this.#leader))
    }
    if (this.#isConfirming || path !== readPath) this.#pass(call, headers, node, caller)
    else void this.#passRead(call, headers, node)
  }

  /** A read gets its answer, a subscription only an acceptance. */
  async #passRead(call: Call, headers: IncomingHttpHeaders, node: ClientHttp2Session): Promise<void> {
    const { caller } = call
    const request = await buffer(caller).catch(() => undefined)
    if (request === undefined || caller.destroyed || node.destroyed) return
    const options = streams.ReadReq.deserializeBinary(request.subarray(prefixBytes)).getOptions()
    if (options?.hasSubscription() === true) caller.respond({ ':status': 200, 'content-type': 'application/grpc' })
    else this.#pass(call, headers, node, Readable.from([request]))
  }

  #pass(call: Call, headers: IncomingHttpHeaders, node: ClientHttp2Session, request: Readable): void {
    const { caller, asked, answered } = call
    const onward = node.request(headers)
    let trailers: IncomingHttpHeaders = {}
    this.#calls.add(call)
    onward.on('error', () => undefined)
    onward.on('response', (answer, flags) => {
      if (caller.destroyed || caller.headersSent) return
      const isWhole = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0
      caller.respond(answer, isWhole ? { endStream: true } : { waitForTrailers: true })
    })
    onward.on('trailers', (given) => (trailers = given))
    caller.on('wantTrailers', () => caller.sendTrailers(trailers))
    call.end = () => {
      caller.close(constants.NGHTTP2_CANCEL)
      onward.close(constants.NGHTTP2_CANCEL)
    }
    caller.on('close', () => {
      if (asked.isHeld) return
      this.#calls.delete(call)
      onward.close(constants.NGHTTP2_CANCEL)
    })
    onward.on('close', () => {
      if (onward.rstCode !== constants.NGHTTP2_NO_ERROR) caller.close(onward.rstCode)
    })
    request.pipe(asked).pipe(onward)
    onward.pipe(answered).pipe(caller)
  }

  /** The node's own answer shows that it lives. Its content is that of a cluster. */
  async #gossip(caller: ServerHttp2Stream, headers: IncomingHttpHeaders, node: ClientHttp2Session): Promise<void> {
    const onward = node.request(headers)
    caller.pipe(onward)
    try {
      await buffer(onward)
    } catch {
      return caller.close(constants.NGHTTP2_REFUSED_STREAM)
    }
    if (caller.destroyed) return
    const info = new gossip.ClusterInfo().setMembersList(([0, 1] as const).map((place) => this.#member(place)))
    const message = info.serializeBinary()
    const prefix = Buffer.alloc(prefixBytes)
    prefix.writeUInt32BE(message.length, 1)
    caller.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
    caller.on('wantTrailers', () => caller.sendTrailers({ 'grpc-status': '0' }))
    caller.end(Buffer.concat([prefix, message]))
  }

  #member(place: Place): InstanceType<typeof gossip.MemberInfo> {
    const state = this.#leader === undefined ? UNKNOWN : this.#leader === place ? LEADER : FOLLOWER
    return new gossip.MemberInfo()
      .setState(state)
      .setIsAlive(this.#hung !== place)
      .setHttpEndPoint(new gossip.EndPoint().setAddress('127.0.0.1').setPort(this.#lines[place].port))
  }

  #notLeader(leader: Place): Refusal {
    return {
      'grpc-status': '5',
      'grpc-message': 'Leader info available',
      exception: 'not-leader',
      'leader-endpoint-host': '127.0.0.1',
      'leader-endpoint-port': String(this.#lines[leader].port),
    }
  }
}

type Refusal = Readonly<Record<string, string>>

const unready: Refusal = { 'grpc-status': '14', 'grpc-message': 'Server Is Not Ready' }

function refuse(caller: ServerHttp2Stream, refusal: Refusal): void {
  caller.resume()
  caller.respond({ ':status': 200, 'content-type': 'application/grpc', ...refusal }, { endStream: true })
}
