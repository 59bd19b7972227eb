import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * Where to keep what a later start can use again, the best place first. Beside the packages only those write who may
 * change the code. A user who may not has a folder of their own. Each may be missing or not writable.
 */
export function cacheFolders(name: string, home: () => string = homedir): readonly string[] {
  const besidePackages = fileURLToPath(new URL(`../../node_modules/.cache/${name}`, import.meta.url))
  try {
    return [besidePackages, join(home(), '.cache', 'clinical-assessment-platform', name)]
  } catch {
    // A user without a name has no home.
    return [besidePackages]
  }
}
