import { keepCompiled } from '../platform/kit/compile-cache.ts'
import { findRelativeImports } from '../platform/kit/relative-imports.ts'

keepCompiled()
findRelativeImports()
// Imported afterwards, so that both count for its modules.
const { runProgram } = await import('./program.ts')
await runProgram(process.argv.slice(2))
