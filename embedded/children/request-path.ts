import type { IncomingMessage } from 'node:http'

/** The path of a request. The target is no address: `//` is a path of its own, and no URL. */
export function pathOf({ url = '/' }: Pick<IncomingMessage, 'url'>): string {
  return url.replace(/\?.*/s, '')
}
