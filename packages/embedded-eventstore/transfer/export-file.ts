import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { FORMAT, parseLine, type TransferredEvent } from './exported-line.ts'

/**
 * The events of an export, in order. Throws at its end, or where it is cut off, when the content differs from what was
 * exported.
 */
export async function* readExport(file: string): AsyncGenerator<TransferredEvent> {
  const hash = createHash('sha256')
  let place: 'before' | 'within' | 'behind' = 'before'
  let events = 0
  for await (const line of createInterface({ input: createReadStream(file, 'utf8'), crlfDelay: Infinity })) {
    const parsed = parseLine(line)
    if (place === 'before') {
      if (!('header' in parsed) || parsed.header.format !== FORMAT)
        throw new Error(`${file} is not an export of the form ${FORMAT}`)
      place = 'within'
    } else if (place === 'behind' || 'header' in parsed) throw new Error(`${file} continues after its end`)
    else if ('footer' in parsed) {
      if (parsed.footer.events !== events || parsed.footer.sha256 !== hash.digest('hex'))
        throw new Error(`${file} was changed after the export: its checksum does not match`)
      place = 'behind'
    } else {
      events += 1
      yield parsed.event
    }
    if (place === 'within') hash.update(`${line}\n`)
  }
  if (place !== 'behind') throw new Error(`${file} is incomplete: its end is missing`)
}
