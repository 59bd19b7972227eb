import { fileURLToPath } from 'node:url'
import { lockDataFolder } from '../../../embedded/children/data-folder-lock.ts'
import { startChild } from 'embedded-eventstore/child-server'

const [journal = '', folder = ''] = process.argv.slice(2)

await lockDataFolder(folder)
const child = await startChild({
  name: 'scripted child',
  script: fileURLToPath(new URL('./scripted-child.ts', import.meta.url)),
  args: ['--journal', journal],
})
process.stdout.write(`${child.pid}\n`)
