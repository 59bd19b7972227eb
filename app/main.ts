import { keepCompiled } from '../platform/kit/compile-cache.ts'

keepCompiled()
// Imported afterwards, so that its modules are kept too.
const { runProgram } = await import('./program.ts')
await runProgram(process.argv.slice(2))
