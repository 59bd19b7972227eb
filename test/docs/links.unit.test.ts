import { existsSync, globSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '../..')
const textOf = (path: string) => readFileSync(join(root, path), 'utf8')
const documents = globSync('**/*.md', {
  cwd: root,
  exclude: (name) => ['node_modules', '.git', '.platform'].includes(posix.basename(name)),
})

/** The anchor that a reader of Markdown makes of a heading. */
function anchorOf(heading: string): string {
  const text = heading.toLowerCase().replace(/[`*]/g, '')
  return text
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replace(/\s/g, '-')
}

/** Relative links that lead to no file, or to no heading of it. */
function deadLinks(path: string, text: string): string[] {
  const links = [...text.replace(/```[\s\S]*?```/g, '').matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link)
  return links.filter((link) => {
    if (/^[a-z]+:/.test(link)) return false
    const [file = '', anchor] = link.split('#')
    const target = file === '' ? path : posix.join(posix.dirname(path), file)
    if (!existsSync(join(root, target))) return true
    if (anchor === undefined || !target.endsWith('.md')) return false
    return ![...textOf(target).matchAll(/^#+ (.*)$/gm)].some(([, heading = '']) => anchorOf(heading) === anchor)
  })
}

test('each relative link of each document leads to a file and a heading', () => {
  expect(documents.length).toBeGreaterThan(50)
  expect(documents.flatMap((path) => deadLinks(path, textOf(path)).map((link) => `${path}: ${link}`))).toEqual([])
})

test('a dead link is found', () => {
  const planted = '[a](none.md) [b](README.md#no-such-heading) [c](README.md#two-commands) [d](#here)\n# Here\n'
  expect(deadLinks('CONTRIBUTING.md', planted)).toEqual(['none.md', 'README.md#no-such-heading', '#here'])
})
