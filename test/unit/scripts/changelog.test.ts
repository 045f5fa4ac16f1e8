import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { expect, it } from 'vitest'
import { type Fragment, fragmentProblems, readFragments, releaseChangelog } from '../../../scripts/changelog.ts'

const OLD = '# Changelog\n\nAbout.\n\n## 0.2.0 (2026-11-29)\n\n- old\n'
const fragment = (file: string, text = 'Something is different.\n'): Fragment => ({ file, text })

it('the fragments of docs/changes/ are valid', () => {
  expect(fragmentProblems(readFragments(resolve(import.meta.dirname, '../../../docs/changes')))).toEqual([])
})

it.each([
  ['notes.md', undefined, /must be like/],
  ['Faster.api.md', undefined, /must be like/],
  ['a--b.api.md', undefined, /must be like/],
  ['faster.speed.md', undefined, /speed is not one of consensus, network/],
  ['faster.api.md', ' \n', /is empty/],
  ['faster.api.md', '# Heading\n', /without a heading/],
  ['faster.api.md', 'One:\n- two\n', /without a heading or a list/],
  ['faster.api.md', 'x'.repeat(161), /over 160/],
])('%s with %j is refused', (file, text, problem) => {
  expect(fragmentProblems([fragment(file, text)])).toEqual([expect.stringMatching(problem)])
  expect(() => releaseChangelog(OLD, [fragment(file, text)], '0.3.0', '2027-01-02')).toThrow(problem)
})

it('a release is a section above the older ones, by kind and name', () => {
  const fragments = [
    fragment('b.api.md', 'Second.\nIn two lines.\n'),
    fragment('z.consensus.md', 'A rule.'),
    fragment('a.api.md', 'First.'),
  ]
  const expected = `# Changelog

About.

## 0.3.0 (2027-01-02)

### Rules of consensus
- A rule.

### APIs
- First.
- Second.
  In two lines.

## 0.2.0 (2026-11-29)

- old
`
  expect(releaseChangelog(OLD, fragments, '0.3.0', '2027-01-02')).toBe(expected)
})

it.each([
  ['0.2.0', [fragment('a.api.md')], /already has version 0\.2\.0/],
  ['next', [fragment('a.api.md')], /must be like/],
  ['0.3.0', [], /no fragments/],
])('a release %s is refused', (version, fragments, problem) => {
  expect(() => releaseChangelog(OLD, fragments, version, '2027-01-02')).toThrow(problem)
})

it('reads all files of the folder except its README', () => {
  const folder = mkdtempSync(join(tmpdir(), 'changes-'))
  try {
    for (const name of ['README.md', 'b.data.md', 'a.api.md']) writeFileSync(join(folder, name), name)
    expect(readFragments(folder)).toEqual([fragment('a.api.md', 'a.api.md'), fragment('b.data.md', 'b.data.md')])
  } finally {
    rmSync(folder, { recursive: true })
  }
})
