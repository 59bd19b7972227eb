import { exitWhenParentGone, tolerateClosedOutput } from './parent-watch.ts'

export type RunningServer = {
  port: number
  /** Ends the work in hand and releases everything. Called once, for every reason to stop. */
  stop: () => Promise<void>
}

/** The secrets of a server. They are no arguments, because every user of the machine can see those. */
export type ServerEnvironment = Readonly<Record<string, string | undefined>>

/** Equals the time that a parent waits before it kills. A stop that hangs must not last longer than that. */
const STOP_LIMIT_MS = 8_000

/**
 * Runs the process of an embedded server. It starts the server and prints the ready line as the first line of stdout.
 * It stops the server on SIGTERM, on SIGINT or (with `exitWithParent`) at the parent's end, and exits 0. A failed start
 * prints its reason to stderr and exits 1. A stop during the start waits for the start, so nothing is left half
 * running.
 */
export async function liveAsChild(options: {
  exitWithParent: boolean
  start: () => Promise<RunningServer>
}): Promise<void> {
  tolerateClosedOutput()
  const stopAsked = new Promise<void>((resolve) => {
    process.on('SIGTERM', resolve)
    process.on('SIGINT', resolve)
    if (options.exitWithParent) exitWhenParentGone(resolve)
  })
  try {
    const server = await options.start()
    process.stdout.write(`${JSON.stringify({ ready: true, port: server.port })}\n`)
    await stopAsked
    setTimeout(() => process.exit(1), STOP_LIMIT_MS).unref()
    await server.stop()
    process.exit(0)
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`, () => process.exit(1))
  }
}
