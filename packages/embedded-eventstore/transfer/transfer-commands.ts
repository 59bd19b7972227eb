import { parseArgs } from 'node:util'

export const EXPORT_USAGE = 'export --url esdb://HOST:PORT --out FILE [--with-system-streams]'
export const IMPORT_USAGE = 'import --url esdb://HOST:PORT --from FILE'

/** Writes all events of the store at a connection string to a file, and prints the counts. Rejects wrong arguments. */
export async function runExport(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      url: { type: 'string' },
      out: { type: 'string' },
      'with-system-streams': { type: 'boolean', default: false },
    },
  })
  if (values.url === undefined || values.out === undefined) throw new Error(`usage: ${EXPORT_USAGE}`)
  // Only the transfer commands load the client, not every node.
  const { exportStore } = await import('./export.ts')
  say(
    'exported',
    await exportStore({ url: values.url, out: values.out, withSystemStreams: values['with-system-streams'] }),
  )
}

/** Imports an exported file into the store at a connection string, and prints the counts. Rejects wrong arguments. */
export async function runImport(args: string[]): Promise<void> {
  const { values } = parseArgs({ args, options: { url: { type: 'string' }, from: { type: 'string' } } })
  if (values.url === undefined || values.from === undefined) throw new Error(`usage: ${IMPORT_USAGE}`)
  const { importStore } = await import('./import.ts')
  say('imported', await importStore(values.url, values.from))
}

function say(event: string, figures: Record<string, unknown>): void {
  process.stdout.write(`${JSON.stringify({ event, ...figures })}\n`)
}
