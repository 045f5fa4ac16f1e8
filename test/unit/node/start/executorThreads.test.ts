import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const SOURCES = join(import.meta.dirname, '../../../../src')

/** A stack that overflows must do so in every process that executes the block: threads have the same one (`spawnThread`), a main thread has not. */
it('opens executors in threads of their own alone', () => {
  const opening = globSync('**/*.ts', { cwd: SOURCES }).filter((path) => {
    const source = readFileSync(join(SOURCES, path), 'utf8')
    return /import\s*\{[^}]*\bopenExecutor\b[^}]*\}\s*from|await import\([^)]*execution\/executor\.ts'\)/.test(source)
  })
  expect(opening.sort()).toEqual([
    'node/roles/executor/executorThread.ts',
    'node/roles/offlineExecutor/offlineExecutorThread.ts',
  ])
})
