import { writeFile } from 'node:fs/promises'
import { currentTypes } from './current-types.ts'

await writeFile(new URL('../../packages/client/api.ts', import.meta.url), await currentTypes())
