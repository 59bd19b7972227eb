import type { ServerDuplexStream } from '@grpc/grpc-js'
import { BadRequestError, readUuid } from '../wire/append-request.ts'
import type { AccessControl } from '../access/access-control.ts'
import { handlerFailed } from '../wire/errors.ts'
import { FieldReader, MalformedMessageError } from '../wire/protobuf.ts'
import { ALL_STREAM } from '../persistent/group-settings.ts'
import type { NackAction } from '../persistent/message.ts'
import type { PersistentSubscriptions } from '../persistent/persistent-subscriptions.ts'
import type { RunningGroup } from '../persistent/running-group.ts'
import { droppedByGroup, groupCallError } from './persistent-errors.ts'
import { confirmation, delivery } from './persistent-replies.ts'

export type ConsumerStream = ServerDuplexStream<Buffer, Buffer | Buffer[]>

type Options = { stream: string; group: string; bufferSize: number; structuredIds: boolean }

const NACK_ACTIONS: NackAction[] = ['unknown', 'park', 'retry', 'skip', 'stop']
const UNNAMED = '<unknown>'

/**
 * The `Read` call of persistent subscriptions. It sends messages and receives acknowledgements until the client leaves
 * or the group drops it.
 */
export function consume(subscriptions: PersistentSubscriptions, access: AccessControl, call: ConsumerStream): void {
  let joined: { group: RunningGroup; id: string } | undefined
  const leave = (): void => {
    joined?.group.disconnect(joined.id)
    joined = undefined
  }
  call.on('cancelled', leave)
  call.on('close', leave)
  call.on('error', leave)
  call.on('data', (bytes: Buffer) => {
    try {
      if (joined === undefined) joined = join(subscriptions, access, call, readOptions(bytes), leave)
      else takeAnswer(joined.group, bytes)
    } catch (error) {
      // As on the server, an unreadable answer is the last one that is read. The messages continue.
      if (joined !== undefined) call.removeAllListeners('data').resume()
      else
        call.emit(
          'error',
          error instanceof BadRequestError || error instanceof MalformedMessageError
            ? handlerFailed()
            : groupCallError(error),
        )
    }
  })
}

function join(
  subscriptions: PersistentSubscriptions,
  access: AccessControl,
  call: ConsumerStream,
  options: Options,
  leave: () => void,
): { group: RunningGroup; id: string } {
  const { stream, bufferSize, structuredIds } = options
  access.requireStream(call.metadata, 'read', stream)
  const group = subscriptions.toJoin(stream, options.group)
  if (bufferSize < 0) throw handlerFailed()
  const name = call.metadata.get('connection-name')[0]?.toString() ?? UNNAMED
  let outgoing: Buffer[] = [confirmation(group.key)]
  let untaken = outgoing.length
  const flush = (): void => {
    const replies = outgoing
    outgoing = []
    if (!call.cancelled && replies.length > 0) call.write(replies, () => (untaken -= replies.length))
  }
  // The group delivers a message again when its time is over, also to a consumer that has stopped reading. As on the
  // server, no more messages wait for a consumer than it asked for. It does not get the others; their time ends too.
  const send = (reply: Buffer): void => {
    if (untaken > bufferSize) return
    untaken += 1
    if (outgoing.length === 0) queueMicrotask(flush)
    outgoing.push(reply)
  }
  queueMicrotask(flush)
  const id = group.connect(
    {
      deliver: (event, retries) => send(delivery(event, retries, structuredIds)),
      drop: () => {
        flush()
        leave()
        call.emit('error', droppedByGroup(stream, options.group))
      },
    },
    bufferSize,
    { username: access.nameOf(call.metadata), name },
  )
  return { group, id }
}

/** The first message. Throws CallError, BadRequestError and MalformedMessageError. */
function readOptions(bytes: Buffer): Options {
  const message = new FieldReader(bytes)
  if (!message.next() || message.field !== 1) throw handlerFailed()
  const options: Options = { stream: '', group: '', bufferSize: 0, structuredIds: true }
  const fields = message.nested()
  while (fields.next()) {
    if (fields.field === 1) {
      const name = fields.nested()
      while (name.next()) if (name.field === 3) options.stream = name.text()
    } else if (fields.field === 2) options.group = fields.text()
    else if (fields.field === 3) options.bufferSize = Number(BigInt.asIntN(32, fields.uint64()))
    else if (fields.field === 4) {
      const uuid = fields.nested()
      while (uuid.next()) options.structuredIds = uuid.field !== 2
    } else if (fields.field === 5) options.stream = ALL_STREAM
  }
  if (options.stream === '') throw handlerFailed()
  return options
}

/** Takes an acknowledgement, or a refusal with the action for its messages. */
function takeAnswer(group: RunningGroup, bytes: Buffer): void {
  const message = new FieldReader(bytes)
  if (!message.next() || message.field === 1) throw new BadRequestError('not an acknowledgement')
  const isAck = message.field === 2
  const ids: string[] = []
  let action: NackAction | undefined = 'unknown'
  let reason = ''
  const fields = message.nested()
  while (fields.next()) {
    if (fields.field === 2) ids.push(readUuid(fields.content()))
    else if (fields.field === 3) action = NACK_ACTIONS[Number(fields.uint64())]
    else if (fields.field === 4) reason = fields.text()
  }
  if (isAck) group.ack(ids)
  else if (action === undefined) throw new BadRequestError('unknown action')
  else group.nack(ids, action, reason)
}
