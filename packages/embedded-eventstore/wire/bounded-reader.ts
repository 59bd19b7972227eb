import protobuf, { type BinaryReader } from 'google-protobuf'
import { MalformedMessageError } from './protobuf.ts'

export type MessageType<Message> = {
  new (): Message
  deserializeBinaryFromReader(message: Message, reader: BinaryReader): Message
}

/** Reads a message. Throws if a part of it says that it is longer than the rest, among others. */
export function readMessage<Message>(type: MessageType<Message>, bytes: Uint8Array): Message {
  return type.deserializeBinaryFromReader(new type(), new BoundedReader(bytes))
}

/** google-protobuf believes the length of a nested message. It reads up to 4 GiB of nothing behind a request of nine bytes. */
class BoundedReader extends protobuf.BinaryReader {
  override nextField(): boolean {
    if (this.getCursor() > this.getBuffer().length) throw new MalformedMessageError('message ends inside a field')
    return super.nextField()
  }
}
