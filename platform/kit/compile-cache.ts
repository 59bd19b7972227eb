import { constants, enableCompileCache, getCompileCacheDir } from 'node:module'
import { cacheFolders } from './cache-folders.ts'

/**
 * Keeps what V8 compiles for the next start, of this process and of its children. A command calls it before it imports
 * its other modules. `NODE_COMPILE_CACHE` names another folder. Where no folder can be written, each start compiles.
 */
export function keepCompiled(folders = cacheFolders('compiled')): void {
  if (getCompileCacheDir() !== undefined) return
  const { FAILED } = constants.compileCacheStatus
  const folder = folders.find((one) => enableCompileCache(one).status !== FAILED)
  if (folder !== undefined) process.env['NODE_COMPILE_CACHE'] = folder
}
