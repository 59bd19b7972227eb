import { Writable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { createLogger, describeError, type LogFields } from '../../../platform/observability/logging.ts'
import { problem } from '../../../platform/http/problems.ts'

const canary = 'Jane Canary Doe'

function capture() {
  const lines: string[] = []
  const destination = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      lines.push(chunk.toString())
      done()
    },
  })
  return {
    logger: createLogger({ level: 'debug', destination }),
    lines: () => lines.map((line) => JSON.parse(line) as Record<string, unknown>),
    text: () => lines.join(''),
  }
}

describe('a log line', () => {
  it('contains allowed members only', () => {
    const { logger, lines } = capture()
    const given = {
      requestId: 'r-1',
      durationMs: 5,
      given_name: canary,
      body: { name: canary },
      url: `/x?identifier=${canary}`,
      headers: {},
    }
    const fields: LogFields = given
    logger.info(fields, 'request')
    expect(lines()).toEqual([
      { level: 'info', time: expect.any(String), requestId: 'r-1', durationMs: 5, msg: 'request' },
    ])
  })

  it('drops values that are neither plain texts nor numbers, and overlong ones', () => {
    const { logger, text } = capture()
    const hidden: object = { code: { canary }, reason: canary.repeat(100), route: [canary] }
    logger.warn({ ...hidden }, 'odd')
    expect(text()).not.toContain('Canary')
  })

  it('contains no message of a foreign error at any place', () => {
    const { logger, text, lines } = capture()
    const error = Object.assign(
      new TypeError(`${canary}\n    at ${canary} (file:///x.ts:1:2)`, { cause: new Error(canary) }),
      { code: 'ERR_X', detail: canary },
    )
    logger.error({ err: error }, 'failed')
    logger.error(error)
    logger.error({ err: error })
    logger.error({ err: canary }, 'failed')
    logger.error({ reason: 'x' }, 'failed %s', canary)
    expect(text()).not.toContain('Canary')
    expect(lines()[0]).toMatchObject({
      err: { type: 'TypeError', code: 'ERR_X', cause: { type: 'Error' } },
      msg: 'failed',
    })
    expect(lines()).toHaveLength(5)
  })
})

describe('an error', () => {
  it('shows its place in the code', () => {
    expect(describeError(new Error('x')).frames[0]).toMatch(/^at .*logging\.unit\.test\.ts:\d+:\d+/)
  })

  it('of ours with the safe mark shows its message', () => {
    expect(describeError(problem('conflict'))).toMatchObject({
      type: 'Problem',
      code: 'conflict',
      message: 'The resource was changed at the same time',
    })
  })

  it('shows its causes, up to a depth', () => {
    let error = new Error('x')
    for (let depth = 0; depth < 10; depth += 1) error = new Error('x', { cause: error })
    expect(JSON.stringify(describeError(error)).match(/"cause"/g)).toHaveLength(3)
  })
})
