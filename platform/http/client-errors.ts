import { STATUS_CODES, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { v4 as uuidv4 } from 'uuid'
import { problem, type ProblemCode } from './problems.ts'
import { commonHeaders } from './common-headers.ts'
import { problemBody } from './errors.ts'
import { requestIdFrom, traceparentFrom } from './request-context.ts'

/** Answers requests that the HTTP parser refuses: malformed or oversized heads, timeouts. */
export function createClientErrorHandler(version: string) {
  return (error: Error & { readonly code?: string }, socket: Socket): void => {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy()
      return
    }
    const { status, headers, body } = answerTo(codeOf(error), version)
    const fields = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
    socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${fields.join('\r\n')}\r\n\r\n${body}`)
  }
}

/** Answers a request whose Expect is not `100-continue`. Node.js does not pass it to the application. */
export function createExpectationHandler(version: string) {
  return (_: IncomingMessage, response: ServerResponse): void => {
    const { status, headers, body } = answerTo('expectation-failed', version)
    response.writeHead(status, headers).end(body)
  }
}

function codeOf({ code }: { readonly code?: string }): ProblemCode {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'request-timeout'
  if (code === 'HPE_INVALID_TRANSFER_ENCODING') return 'transfer-coding-unsupported'
  return code === 'HPE_HEADER_OVERFLOW' ? 'headers-too-large' : 'malformed-request'
}

function answerTo(code: ProblemCode, version: string) {
  const answer = problem(code)
  const requestId = requestIdFrom(undefined)
  const body = JSON.stringify(problemBody(answer, requestId, uuidv4()))
  const headers = {
    ...commonHeaders({ requestId, traceparent: traceparentFrom(undefined), version }),
    'content-type': 'application/problem+json; charset=utf-8',
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
  }
  return { status: answer.status, headers, body }
}
