import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { DemoImage } from './steps.ts'

const photographs = ['lesion-1.jpg', 'lesion-3.png'].map((name) =>
  fileURLToPath(new URL(`../../embedded/photos/${name}`, import.meta.url)),
)
const mediaTypes: Readonly<Record<string, string>> = {
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.png': 'image/png',
}

const usage = `Usage: npm run demo -- [--image PHOTO.jpg|PHOTO.png]… [--keep]

  --image  your own photograph; repeat it for several (10 at most)
  --keep   leaves the platform running, and its data folder behind, with a first program that calls it`

type DemoArguments =
  | { readonly images: readonly DemoImage[]; readonly isKept: boolean }
  /** The demo does not run. It prints the text, to standard error if an image cannot be used. */
  | { readonly code: number; readonly out: string }
  | { readonly code: number; readonly err: string }

export async function readDemoArguments(args: readonly string[]): Promise<DemoArguments> {
  const given = parsed(args)
  if (typeof given === 'string') return { code: 2, out: `${given}\n\n${usage}` }
  if (given.help === true) return { code: 0, out: usage }
  try {
    return { images: await Promise.all((given.image ?? photographs).map(readImage)), isKept: given.keep ?? false }
  } catch (error) {
    return { code: 2, err: error instanceof Error ? error.message : String(error) }
  }
}

/** The parsed arguments, or the error in them. */
function parsed(args: readonly string[]) {
  const options = {
    image: { type: 'string', multiple: true },
    keep: { type: 'boolean' },
    help: { type: 'boolean' },
  } as const
  try {
    return parseArgs({ args: [...args], options }).values
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

async function readImage(path: string): Promise<DemoImage> {
  const mimeType = mediaTypes[extname(path).toLowerCase()]
  if (mimeType === undefined) throw new Error(`${path} must be a .jpg, .jpeg or .png file`)
  const bytes = await readFile(path).catch(() => {
    throw new Error(`${path} cannot be read`)
  })
  return { mimeType, data: bytes.toString('base64') }
}
