import {
  Metadata,
  Server,
  ServerCredentials,
  status,
  type sendUnaryData,
  type ServerDuplexStream,
  type ServerWritableStream,
} from '@grpc/grpc-js'
import { GossipService } from '@eventstore/db-client/generated/gossip_grpc_pb.js'
import gossip from '@eventstore/db-client/generated/gossip_pb.js'
import { ServerFeaturesService } from '@eventstore/db-client/generated/serverfeatures_grpc_pb.js'
import features from '@eventstore/db-client/generated/serverfeatures_pb.js'
import { StreamsService } from '@eventstore/db-client/generated/streams_grpc_pb.js'
import type { BatchAppendReq, BatchAppendResp, ReadReq, ReadResp } from '@eventstore/db-client/generated/streams_pb.js'

export type AppendCall = ServerDuplexStream<BatchAppendReq, BatchAppendResp>
export type ReadCall = ServerWritableStream<ReadReq, ReadResp>

/** The content of one append request. */
export interface SeenAppend {
  readonly stream: string
  readonly expected: string
  readonly ids: readonly string[]
  readonly deadlineMs: number
  readonly peer: string
  /** The Authorization header of its call. */
  readonly authorization: string | undefined
}

/** A member of a cluster, as gossip names it. */
export interface GossipMember {
  readonly port: number
  readonly state: 'LEADER' | 'FOLLOWER' | 'UNKNOWN'
  readonly isAlive?: boolean
}

/** The server's behaviour. The handlers alone decide the answer and its time: nothing is answered automatically. */
export interface Script {
  readonly onAppend?: (request: BatchAppendReq, call: AppendCall, number: number) => void
  readonly onRead?: (call: ReadCall, number: number) => void
  /** The members that gossip names; undefined fails the question. Without it, the server has no gossip. */
  readonly onGossip?: () => readonly GossipMember[] | undefined
  /** Most calls per connection, as a real server limits them; unlimited by default. */
  readonly mostCalls?: number
  /** Uses TLS with this certificate. */
  readonly tls?: { readonly key: string; readonly certificate: string }
}

/** A gRPC server on the client's own service definitions that misbehaves as a test requires. */
export class ScriptedServer implements AsyncDisposable {
  readonly #server: Server
  readonly url: string
  readonly port: number
  readonly appends: SeenAppend[] = []
  readonly reads: ReadReq.AsObject[] = []
  readonly readPeers: string[] = []
  /** Number of reads that only the leader may answer. */
  readsOfLeader = 0
  gossipQuestions = 0
  /** Append calls that have not ended. */
  openAppendCalls = 0

  private constructor(server: Server, port: number, hasTls: boolean) {
    this.#server = server
    this.port = port
    this.url = `esdb://127.0.0.1:${port}?tls=${hasTls}`
  }

  static async start(script: Script): Promise<ScriptedServer> {
    const server = new Server(script.mostCalls === undefined ? {} : { 'grpc.max_concurrent_streams': script.mostCalls })
    const port = await new Promise<number>((resolve, reject) => {
      server.bindAsync('127.0.0.1:0', credentialsOf(script), (error, bound) =>
        error === null ? resolve(bound) : reject(error),
      )
    })
    const scripted = new ScriptedServer(server, port, script.tls !== undefined)
    server.addService(ServerFeaturesService, {
      getSupportedMethods: (_: unknown, answer: Answer) => answer(null, supported()),
    })
    server.addService(GossipService, {
      read: (_: unknown, answer: sendUnaryData<gossip.ClusterInfo>) => scripted.#serveGossip(answer, script),
    })
    server.addService(StreamsService, {
      batchAppend: (call: AppendCall) => scripted.#serveAppends(call, script),
      read: (call: ReadCall) => scripted.#serveRead(call, script),
      append: refuse,
      delete: refuse,
      tombstone: refuse,
    })
    return scripted
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.forceShutdown()
  }

  #serveAppends(call: AppendCall, { onAppend }: Script): void {
    this.openAppendCalls += 1
    call.once('close', () => (this.openAppendCalls -= 1))
    call.on('error', () => undefined)
    call.on('data', (request: BatchAppendReq) => {
      this.appends.push(seen(request, call))
      onAppend?.(request, call, this.appends.length)
    })
    call.on('end', () => call.end())
  }

  #serveGossip(answer: sendUnaryData<gossip.ClusterInfo>, { onGossip }: Script): void {
    this.gossipQuestions += 1
    const members = onGossip?.()
    if (members === undefined) return answer({ code: status.UNAVAILABLE, details: 'no gossip now' })
    const info = new gossip.ClusterInfo()
    info.setMembersList(members.map(memberInfo))
    answer(null, info)
  }

  #serveRead(call: ReadCall, { onRead }: Script): void {
    call.on('error', () => undefined)
    this.reads.push(call.request.toObject())
    this.readPeers.push(call.getPeer())
    if (call.metadata.get('requires-leader').includes('true')) this.readsOfLeader += 1
    onRead?.(call, this.reads.length)
  }
}

function credentialsOf({ tls }: Script): ServerCredentials {
  if (tls === undefined) return ServerCredentials.createInsecure()
  return ServerCredentials.createSsl(null, [
    { private_key: Buffer.from(tls.key), cert_chain: Buffer.from(tls.certificate) },
  ])
}

type Answer = (error: null, value: InstanceType<typeof features.SupportedMethods>) => void

/** Ends a call as a server that goes away. */
export function unavailable(call: AppendCall | ReadCall): void {
  call.emit('error', { code: status.UNAVAILABLE, details: 'going away' })
}

/** Ends a call as a server that requires other rights. */
export function accessRefused(call: ReadCall): void {
  const metadata = new Metadata()
  metadata.set('exception', 'access-denied')
  call.emit('error', { code: status.PERMISSION_DENIED, details: 'Access Denied', metadata })
}

/** Ends a call as a follower: the leader is at `port`, or it knows none. */
export function notLeader(call: AppendCall | ReadCall, port?: number): void {
  const metadata = new Metadata()
  metadata.set('exception', 'not-leader')
  if (port !== undefined) {
    metadata.set('leader-endpoint-host', '127.0.0.1')
    metadata.set('leader-endpoint-port', String(port))
  }
  call.emit('error', { code: status.NOT_FOUND, details: 'Leader info available', metadata })
}

function memberInfo({ port, state, isAlive = true }: GossipMember) {
  const endPoint = new gossip.EndPoint()
  endPoint.setAddress('127.0.0.1')
  endPoint.setPort(port)
  const member = new gossip.MemberInfo()
  member.setHttpEndPoint(endPoint)
  member.setState(gossip.MemberInfo.VNodeState[state])
  member.setIsAlive(isAlive)
  return member
}

function refuse(_: unknown, answer?: (error: { code: status; details: string }) => void): void {
  answer?.({ code: status.UNIMPLEMENTED, details: 'not scripted' })
}

function seen(request: BatchAppendReq, call: AppendCall): SeenAppend {
  const [authorization] = call.metadata.get('authorization')
  const options = request.getOptions()
  const expected = options?.hasStreamPosition() === true ? options.getStreamPosition() : undefined
  return {
    stream: Buffer.from(options?.getStreamIdentifier()?.getStreamName_asU8() ?? []).toString('utf8'),
    expected: expected ?? (options?.hasNoStream() === true ? 'no_stream' : 'any'),
    ids: request.getProposedMessagesList().map((message) => message.getId()?.getString() ?? ''),
    deadlineMs: options?.getDeadline()?.toDate().getTime() ?? 0,
    peer: call.getPeer(),
    authorization: authorization?.toString(),
  }
}

function supported() {
  const methods = new features.SupportedMethods()
  methods.setEventStoreServerVersion('23.10.6')
  for (const name of ['batchappend', 'append', 'read']) {
    const method = new features.SupportedMethod()
    method.setServiceName('event_store.client.streams.streams')
    method.setMethodName(name)
    methods.addMethods(method)
  }
  return methods
}
