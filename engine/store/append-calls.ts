import { randomUUID } from 'node:crypto'
import type { ClientDuplexStream } from '@grpc/grpc-js'
import { commandErrorOf } from './client-errors.ts'
import { appendMessage, readAppendReply, type AppendReply, type AppendRequest } from './append-messages.ts'
import type { StoreLogger } from './errors.ts'
import { isLongSilence, type NodeConnection } from './node-connection.ts'

type AppendCall = ClientDuplexStream<Buffer, Buffer>

type Written = Exclude<AppendReply['result'], Error>

interface Waiting {
  readonly stream: string
  readonly finish: (result: AppendReply['result']) => void
}

/** Requests in progress on one call, by correlation id. */
interface UnderWay {
  readonly waiting: Map<string, Waiting>
  /**
   * Messages of `UnderWay` that are not written yet; the server never reads them. One per append, however often it is
   * tried.
   */
  readonly held: Map<string, Buffer>
  /** When the last answer arrived, by `performance.now()`. */
  heardAt: number
}

const appendMethod = '/event_store.client.streams.Streams/BatchAppend'

/**
 * Sends appends over one lasting call of the client's connection, without the client's own code. The client keeps its
 * requests in one table for all clients of the process, and a transport error of any client empties it. Here each call
 * has its own table.
 */
export class AppendCalls {
  readonly #connection: NodeConnection
  readonly #logger: StoreLogger | undefined
  readonly #underWay = new WeakMap<AppendCall, UnderWay>()

  constructor(connection: NodeConnection, logger: StoreLogger | undefined) {
    this.#connection = connection
    this.#logger = logger
  }

  /**
   * Appends. Rejects with the client's error if the server refuses. Rejects with any other error if the outcome is
   * unknown, at the latest after `withinMs`, and sooner once the program stops.
   *
   * @param usualMs how long an append waits with all its time
   */
  send(request: Omit<AppendRequest, 'correlationId'>, withinMs: number, usualMs = withinMs): Promise<Written> {
    const correlationId = randomUUID()
    const { promise, resolve, reject } = Promise.withResolvers<Written>()
    const sentAt = performance.now()
    let isFinished = false
    let underWay: UnderWay | undefined
    let used: AppendCall | undefined
    const finish = (result: AppendReply['result']): void => {
      isFinished = true
      cancel()
      underWay?.waiting.delete(correlationId)
      underWay?.held.delete(correlationId)
      if (result instanceof Error) reject(result)
      else resolve(result)
    }
    const cancel = this.#connection.whenOverdue(withinMs, () => {
      finish(new Error('no answer in time'))
      // A node that answers other appends is slow. One that answers none may hang, while another leads the cluster.
      const isLong = isLongSilence(performance.now() - sentAt, usualMs)
      if (used !== undefined && underWay !== undefined && underWay.heardAt < sentAt && isLong)
        this.#connection.leaveNodeOf(used)
    })
    this.#call()
      .then((call) => {
        if (isFinished) return
        used = call
        underWay = this.#underWay.get(call)
        if (underWay === undefined || call.destroyed || call.writableEnded)
          return finish(new Error('the append stream ended'))
        underWay.waiting.set(correlationId, { stream: request.stream, finish })
        const message = appendMessage({ ...request, correlationId })
        if (call.writableNeedDrain) underWay.held.set(correlationId, message)
        else call.write(message)
      })
      .catch((error: unknown) => finish(error instanceof Error ? error : new Error('no connection', { cause: error })))
    return promise
  }

  async #call(): Promise<AppendCall> {
    const asIs = (bytes: Buffer) => bytes
    return this.#connection.lasting((service, metadata, options) =>
      this.#begun(service.makeBidiStreamRequest(appendMethod, asIs, asIs, metadata, options)),
    )
  }

  #begun(call: AppendCall): AppendCall {
    const waiting = new Map<string, Waiting>()
    const held = new Map<string, Buffer>()
    const underWay = { waiting, held, heardAt: 0 }
    this.#underWay.set(call, underWay)
    call.on('drain', () => {
      for (const [correlationId, message] of held) {
        if (call.writableNeedDrain) return
        held.delete(correlationId)
        call.write(message)
      }
    })
    const end = (error: Error) => {
      for (const { finish } of waiting.values()) finish(error)
    }
    call.on('data', (message: Buffer) => {
      underWay.heardAt = performance.now()
      this.#connection.heard(call)
      try {
        this.#take(waiting, message)
      } catch (error) {
        end(new Error('an answer of the event store cannot be read', { cause: error }))
        call.cancel()
      }
    })
    call.on('error', (error: Error) => end(commandErrorOf(error)))
    call.on('end', () => {
      // A half-closed call must end. Otherwise it stays the call for appends, and no server reads later appends. Data
      // that cannot be sent any more keeps a call from ending.
      if (call.writableLength === 0) call.end()
      else call.destroy()
      end(new Error('the append stream ended'))
    })
    call.on('close', () => end(new Error('the append stream ended')))
    return call
  }

  #take(waiting: Map<string, Waiting>, message: Buffer): void {
    const { correlationId, result } = readAppendReply(message, (id) => waiting.get(id)?.stream ?? '')
    const asked = waiting.get(correlationId)
    if (asked === undefined) this.#logger?.warn({}, 'the event store answered an abandoned append')
    else asked.finish(result)
  }
}
