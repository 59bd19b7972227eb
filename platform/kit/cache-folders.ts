import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * Where to keep what a later start can use again, the best place first. Beside the packages only those write who may
 * change the code. A user who may not has a folder of their own. Each may be missing or not writable.
 */
export function cacheFolders(name: string): readonly string[] {
  return [
    fileURLToPath(new URL(`../../node_modules/.cache/${name}`, import.meta.url)),
    join(homedir(), '.cache', 'clinical-assessment-platform', name),
  ]
}
