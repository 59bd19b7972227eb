import { dirname, resolve } from 'node:path'

/**
 * A folder that was made with those above it, up to the one that names the first of them. A power cut takes the name of a
 * new folder, and all in it, until these are synchronised.
 * @param made what `mkdir` returned, which made all that were missing. Undefined: none was
 */
export function foldersUpToNew(folder: string, made: string | undefined): string[] {
  const folders = [resolve(folder)]
  if (made === undefined) return folders
  const top = dirname(resolve(made))
  for (let at = resolve(folder); at !== top && at !== dirname(at); folders.push(at)) at = dirname(at)
  return folders
}
