import { existsSync, globSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')
/** Where the folder of a test may have its sources: most are below src/, others at the root, pages in the explorer's. */
const SOURCES = ['src', '.', 'explorer', 'test']

it('each folder of test/unit has the place of a folder of the sources', () => {
  const folders = new Set(globSync('**/*.test.ts', { cwd: import.meta.dirname }).map((file) => dirname(file)))
  const placesOf = (folder: string): readonly string[] => [
    ...SOURCES.map((source) => join(ROOT, source, folder)),
    join(ROOT, folder.replace(/^(explorer\/)?web/, 'explorer/web/src')),
  ]
  expect([...folders].filter((folder) => !placesOf(folder).some(existsSync)).sort()).toEqual([])
})
