import { appendFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { parseArgs } from 'node:util'
import { liveAsChild } from '../../../embedded/children/live-as-child.ts'

const { values } = parseArgs({
  options: {
    journal: { type: 'string', default: '' },
    behaviour: { type: 'string', default: 'serve' },
    'exit-with-parent': { type: 'boolean', default: false },
  },
})

const note = (line: string): void => {
  if (values.journal !== '') appendFileSync(values.journal, `${line}\n`)
}

await liveAsChild({
  exitWithParent: values['exit-with-parent'],
  start: async () => {
    process.stderr.write(`starting as ${values.behaviour}\n`)
    if (values.behaviour === 'fail') throw new Error('the disk is full')
    if (values.behaviour === 'never-ready') await new Promise(() => {})
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const address = server.address()
    const port = address !== null && typeof address === 'object' ? address.port : 0
    note(`started ${process.pid} ${process.env['SECRET'] ?? '-'} ${process.env['ONLY_FOR_PARENT'] ?? '-'}`)
    return {
      port,
      stop: async () => {
        if (values.behaviour === 'hang') await new Promise(() => {})
        server.close()
        note('stopped')
      },
    }
  },
})
