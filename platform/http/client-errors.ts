import type { Socket } from 'node:net'
import { v4 as uuidv4, v7 as uuidv7 } from 'uuid'
import { problem } from '../problems.ts'
import { problemBody } from './errors.ts'

/** Answers what the HTTP parser refuses before there is a request: malformed or oversized heads, timeouts. */
export function answerClientError(error: Error & { readonly code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const answer = problem(error.code === 'HPE_HEADER_OVERFLOW' ? 'headers-too-large' : 'malformed-request')
  const body = JSON.stringify(problemBody(answer, uuidv7(), uuidv4()))
  const head = [
    `HTTP/1.1 ${answer.status} ${answer.status === 431 ? 'Request Header Fields Too Large' : 'Bad Request'}`,
    'content-type: application/problem+json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    'cache-control: no-store',
    'connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
}
