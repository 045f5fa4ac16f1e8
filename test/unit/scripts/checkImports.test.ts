import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { checkImports, explorerViolation } from '../../../scripts/checkImports.ts'

let source: string
beforeEach(() => {
  source = mkdtempSync(join(tmpdir(), 'coind-imports-'))
})
afterEach(() => {
  rmSync(source, { recursive: true })
})

function write(files: Readonly<Record<string, string>>): void {
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(join(source, dirname(file)), { recursive: true })
    writeFileSync(join(source, file), text)
  }
}

/** Files that others import, so that no import is of a missing one. */
const TARGETS = {
  'main.ts': '',
  'node/port.ts': '',
  'cli/ports.ts': '',
  'rpc/r.ts': '',
  'consensus/application.ts': '',
  'consensus/wal.ts': '',
  'execution/a.ts': '',
  'state/s.ts': '',
  'chain/c.ts': '',
  'primitives/bytes.ts': '',
}

describe('checkImports', () => {
  it.each<[string, string]>([
    ['rpc/x.ts', "import { a } from '../state/s.ts'"],
    ['rpc/x.ts', "import { a } from './r.ts'"],
    ['rpc/x.ts', "import a from 'viem'\nimport { readFileSync } from 'node:fs'"],
    ['execution/x.ts', "import type { Application } from '../consensus/application.ts'"],
    ['cli/run.ts', "import { startNode } from '../main.ts'"],
    ['node/executor.ts', "import '../execution/a.ts'"],
    ['main.ts', "import type { RunningNode } from './cli/ports.ts'\nimport { serve } from './node/port.ts'"],
  ])('allows in %s: %s', (file, text) => {
    write({ ...TARGETS, [file]: text })
    expect(checkImports(source)).toEqual([])
  })

  it.each<[string, string, string]>([
    ['state/x.ts', "import {\n  a,\n  type B,\n} from '../rpc/r.ts'", 'rpc is above state'],
    ['chain/x.ts', "import type { A } from '../state/s.ts'", 'state is above chain'],
    ['chain/x.ts', "export { a } from '../state/s.ts'", 'state is above chain'],
    ['chain/x.ts', "export * from '../state/s.ts'", 'state is above chain'],
    ['chain/x.ts', "import '../state/s.ts'", 'state is above chain'],
    ['chain/x.ts', "const a = await import('../state/s.ts')", 'state is above chain'],
    ['execution/x.ts', "import { Application } from '../consensus/application.ts'", 'consensus is above execution'],
    ['execution/x.ts', "import type { Wal } from '../consensus/wal.ts'", 'consensus is above execution'],
    ['consensus/x.ts', "import type { A } from '../execution/a.ts'", 'do not import each other'],
    ['rpc/x.ts', "import { serve } from '../node/port.ts'", 'node composes the parts'],
    ['rpc/x.ts', "import { b } from '../../test/b.ts'", 'no such file'],
    ['helpers/x.ts', "import { b } from '../primitives/bytes.ts'", 'helpers is not in the order'],
    ['chain/x.ts', "import { y } from './missing.ts'", 'no such file'],
  ])('refuses in %s: %s', (file, text, problem) => {
    write({ ...TARGETS, [file]: text })
    expect(checkImports(source)).toEqual([expect.stringContaining(problem)])
  })

  it.each(['import', 'import type'])('finds a cycle that an %s closes', (statement) => {
    write({
      'chain/a.ts': "import { b } from './b.ts'",
      'chain/b.ts': "import { c } from './c.ts'",
      'chain/c.ts': `${statement} { a } from './a.ts'`,
    })
    expect(checkImports(source)).toEqual([expect.stringMatching(/^a cycle: chain\/(\w).ts → .* → chain\/\1.ts$/)])
  })

  it('finds a cycle among files that imports name without their ending', () => {
    write({ 'evm/a.ts': "import { b } from './b'", 'evm/b.ts': "import {\n  a,\n} from './a'" })
    const problems = checkImports(source, () => undefined, '.ts')
    expect(problems).toEqual([expect.stringMatching(/^a cycle: evm\/(\w).ts → evm\/\w.ts → evm\/\1.ts$/)])
  })
})

describe('explorerViolation', () => {
  it.each<[string, string]>([
    ['blocks/routes.ts', 'transactions/queries.ts'],
    ['ingest/readBlock.ts', 'tokens/tokenBook.ts'],
    ['tokens/queries.ts', 'api/cursors.ts'],
    ['database/schema.ts', 'tokens/tables.ts'],
    ['tokens/queries.ts', '../src/primitives/bytes.ts'],
  ])('allows %s to import %s', (from, to) => {
    expect(explorerViolation({ from, to, isTypeOnly: false })).toBeUndefined()
  })

  it.each<[string, string, string]>([
    ['tokens/queries.ts', 'blocks/queries.ts', 'blocks is above tokens'],
    ['faucet/routes.ts', 'tokens/queries.ts', 'faucet does not name tokens'],
    ['tokens/tables.ts', 'tokens/queries.ts', 'tokens is above database'],
    ['api/cursors.ts', 'tokens/queries.ts', 'tokens is above api'],
    ['web/src/api.ts', 'tokens/queries.ts', 'only types of the files shapes.ts'],
    ['tokens/queries.ts', '../src/state/journal.ts', 'explorer/ imports of src/ only'],
  ])('refuses that %s imports %s', (from, to, problem) => {
    expect(explorerViolation({ from, to, isTypeOnly: false })).toContain(problem)
  })
})
