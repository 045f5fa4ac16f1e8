import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'

/** Kinds of changes in the order of a version's sections, with their headings. */
const HEADINGS: ReadonlyMap<string, string> = new Map([
  ['consensus', 'Rules of consensus'],
  ['network', 'Network'],
  ['data', 'Data'],
  ['api', 'APIs'],
  ['operation', 'Operation'],
  ['explorer', 'Explorer'],
])
const NAME = /^([a-z0-9]+(?:-[a-z0-9]+)*)\.([a-z]+)\.md$/
const VERSION = /^\d+\.\d+\.\d+(?:-[0-9a-z.-]+)?$/
const MAX_LINE = 160

/** A file of docs/changes/: its name and its text. */
export interface Fragment {
  readonly file: string
  readonly text: string
}

/** Returns the problems of fragments, one line each; empty if there are no problems. */
export function fragmentProblems(fragments: readonly Fragment[]): readonly string[] {
  return fragments.flatMap(({ file, text }) => {
    const kind = NAME.exec(file)?.[2]
    if (kind === undefined) return [`${file}: the name must be like faster-snapshots.operation.md`]
    if (!HEADINGS.has(kind)) return [`${file}: ${kind} is not one of ${[...HEADINGS.keys()].join(', ')}`]
    if (text.trim() === '') return [`${file}: the file is empty`]
    if (/^\s*(?:#|[-*] )/m.test(text)) return [`${file}: write sentences, without a heading or a list`]
    if (text.split('\n').some((line) => line.length > MAX_LINE))
      return [`${file}: a line is over ${MAX_LINE} characters`]
    return []
  })
}

/**
 * Adds a section for `version` to `changelog`, above those of older versions. `date` is YYYY-MM-DD. Fragments are sorted by
 * name in each kind.
 *
 * @throws Error if a fragment is wrong, if there are no fragments, or if the version is malformed or already there
 */
export function releaseChangelog(
  changelog: string,
  fragments: readonly Fragment[],
  version: string,
  date: string,
): string {
  const problems = fragmentProblems(fragments)
  if (problems.length > 0) throw new Error(problems.join('\n'))
  if (fragments.length === 0) throw new Error('docs/changes/ has no fragments: there is nothing to release')
  if (!VERSION.test(version)) throw new Error(`the version ${version} must be like 0.3.0`)
  if (changelog.includes(`\n## ${version} `)) throw new Error(`CHANGELOG.md already has version ${version}`)
  const first = changelog.search(/^## /m)
  const at = first < 0 ? changelog.length : first
  return `${changelog.slice(0, at)}${section(fragments, version, date)}\n${changelog.slice(at)}`
}

function section(fragments: readonly Fragment[], version: string, date: string): string {
  const sorted = [...fragments].sort((a, b) => (a.file < b.file ? -1 : 1))
  const parts = [...HEADINGS].flatMap(([kind, heading]) => {
    const items = sorted.filter(({ file }) => NAME.exec(file)![2] === kind).map(({ text }) => listItem(text))
    return items.length === 0 ? [] : [`### ${heading}\n${items.join('\n')}\n`]
  })
  return `## ${version} (${date})\n\n${parts.join('\n')}`
}

function listItem(text: string): string {
  const lines = text
    .trim()
    .split('\n')
    .map((line) => line.trim())
  return `- ${lines.filter((line) => line !== '').join('\n  ')}`
}

/** Reads the fragments of a folder: all its files except README.md. */
export function readFragments(folder: string): readonly Fragment[] {
  return readdirSync(folder)
    .filter((file) => file !== 'README.md')
    .sort()
    .map((file) => ({ file, text: readFileSync(join(folder, file), 'utf8') }))
}

function main(): void {
  const { values } = parseArgs({ options: { version: { type: 'string' }, check: { type: 'boolean' } } })
  const root = resolve(import.meta.dirname, '..')
  const folder = join(root, 'docs/changes')
  const fragments = readFragments(folder)
  if (values.version === undefined) {
    const problems = fragmentProblems(fragments)
    for (const problem of problems) console.error(problem)
    if (values.check !== true) console.error('pass --version X to release, or --check')
    process.exitCode = problems.length > 0 || values.check !== true ? 1 : 0
    return
  }
  const file = join(root, 'CHANGELOG.md')
  const today = new Date().toISOString().slice(0, 10)
  writeFileSync(file, releaseChangelog(readFileSync(file, 'utf8'), fragments, values.version, today))
  for (const fragment of fragments) rmSync(join(folder, fragment.file))
  console.log(`CHANGELOG.md has version ${values.version} with ${fragments.length} changes`)
}

if (import.meta.main) {
  try {
    main()
  } catch (error) {
    console.error((error as Error).message)
    process.exitCode = 1
  }
}
