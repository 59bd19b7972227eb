import { problem } from '../../platform/http/problems.ts'

export interface OpenStream {
  readonly signal: AbortSignal
  readonly abort: () => void
  readonly end: () => void
}

/** What waits for events in this process. */
export interface OpenStreams {
  /**
   * Counts one for the client. `end` must be called. The signal is aborted when the process stops.
   * @throws Problem `too-many-streams`
   */
  open(clientId: string): OpenStream
  close(): void
}

/** @param mostOfClient event streams and waiting requests of a client at a time, in this process */
export function countStreams(mostOfClient = 2_000): OpenStreams {
  const ofClient = new Map<string, number>()
  const stopping = new AbortController()
  const controllers = new Set<AbortController>()
  return {
    open(clientId) {
      const open = ofClient.get(clientId) ?? 0
      if (open >= mostOfClient) throw problem('too-many-streams', { retryAfterSeconds: 5 })
      if (stopping.signal.aborted) throw problem('shutting-down')
      ofClient.set(clientId, open + 1)
      const controller = new AbortController()
      controllers.add(controller)
      return {
        signal: controller.signal,
        abort: () => controller.abort(),
        end: () => {
          if (!controllers.delete(controller)) return
          controller.abort()
          const left = (ofClient.get(clientId) ?? 1) - 1
          if (left === 0) ofClient.delete(clientId)
          else ofClient.set(clientId, left)
        },
      }
    },
    close() {
      stopping.abort()
      for (const controller of controllers) controller.abort()
    },
  }
}
