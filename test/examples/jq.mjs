// jq with the options and files of a command line, for machines that have none. Usage: jq.mjs [FLAGS] FILTER [FILE]
import { readFileSync } from 'node:fs'
import jq from 'jq-wasm'

const flags = process.argv.slice(2).filter((argument) => argument.startsWith('-'))
const [filter = '.', file = 0] = process.argv.slice(2).filter((argument) => !argument.startsWith('-'))
const output = await jq.raw(readFileSync(file, 'utf8'), filter, flags)
// The package removes the last line feed.
process.stdout.write(output === '' ? '' : `${output}\n`)
