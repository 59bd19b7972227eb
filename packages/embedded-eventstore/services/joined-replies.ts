import { ServerInterceptingCall, type ServerInterceptor } from '@grpc/grpc-js'

/**
 * Lets a handler write many ready-made replies as one array. grpc-js moves each write through an object stream and a
 * callback, and that costs more than sending the bytes. This class splits the array behind that stream.
 */
class JoinedReplies extends ServerInterceptingCall {
  override sendMessage(message: unknown, callback: () => void): void {
    if (!Array.isArray(message)) {
      super.sendMessage(message, callback)
      return
    }
    const last = message.length - 1
    for (const [index, reply] of message.entries()) super.sendMessage(reply, index === last ? callback : ignore)
  }
}

export const joinedReplies: ServerInterceptor = (_method, call) => new JoinedReplies(call)

function ignore(): void {}
