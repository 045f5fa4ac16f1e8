import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }

const ROOT = resolve(import.meta.dirname, '../..')
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8')
const PAGES = ['README.md', ...globSync('docs/*.md', { cwd: ROOT })]

describe('the documents', () => {
  it('docs/dependencies.md has every package with its version and no other', () => {
    const rows = [...read('docs/dependencies.md').matchAll(/^\| `([^`]+)` \| ([^ ]+) \| .+ \|$/gm)]
    const listed = Object.fromEntries(rows.map((row) => [row[1], row[2]]))
    expect(listed).toEqual({ ...manifest.dependencies, ...manifest.devDependencies, ...manifest.optionalDependencies })
  })

  it('docs/json-rpc.md has every method that the sources define', () => {
    const page = read('docs/json-rpc.md')
    const defined = globSync('src/rpc/**/*.ts', { cwd: ROOT }).flatMap((file) =>
      [...read(file).matchAll(/\bname: '((?:eth|net|web3|txpool|debug)_\w+)'/g)].map((match) => match[1]!),
    )
    expect(defined.length).toBeGreaterThan(30)
    expect(defined.filter((name) => !page.includes(`\`${name}\``))).toEqual([])
  })

  it('docs/operations.md has every metric', () => {
    const page = read('docs/operations.md')
    const defined = globSync('src/telemetry/**/*.ts', { cwd: ROOT }).flatMap((file) =>
      [...read(file).matchAll(/name: '(coind_\w+)'/g)].map((match) => match[1]!),
    )
    expect(defined.length).toBeGreaterThan(20)
    expect(defined.filter((name) => !page.includes(name))).toEqual([])
  })

  it.each(PAGES)('the links of %s lead somewhere', (page) => {
    const targets = [...read(page).matchAll(/\]\((?!https?:)([^)#]+)[^)]*\)/g)].map((match) => match[1]!)
    expect(targets.filter((target) => !existsSync(join(ROOT, dirname(page), target)))).toEqual([])
  })
})
