import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runInProcess } from '../../../support/cli/inProcess.ts'

/** The shells themselves complete a command line with the scripts; those that this machine lacks are passed over. */

let directory: string
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'coind-completion-'))
  for (const shell of ['bash', 'zsh', 'fish']) {
    writeFileSync(join(directory, shell), (await runInProcess('/', ['completion', shell])).printed)
  }
})
afterAll(() => rmSync(directory, { recursive: true }))

const has = (shell: string): boolean => spawnSync(shell, ['-c', 'exit']).status === 0
function said(shell: string, ...args: string[]): string {
  const { stdout, stderr, status } = spawnSync(shell, args, {
    encoding: 'utf8',
    cwd: directory,
    env: { ...process.env, TERM: 'dumb' },
  })
  if (status !== 0) throw new Error(stderr)
  return stdout
}

/** What each shell's own functions offer for a line of words, the last of which is being typed. */
const OFFERS: Readonly<Record<string, (words: readonly string[]) => string>> = {
  bash: (words) =>
    said(
      'bash',
      '-c',
      `source ./bash; COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}; _coind; printf '%s\\n' "\${COMPREPLY[@]}"`,
    ),
  // The completion system needs a terminal: its functions are replaced by ones that say what they are given.
  zsh: (words) =>
    said(
      'zsh',
      '-fc',
      `compdef() { }; source ./zsh
_describe() { print -l -- \${(P)2%%:*} | grep -- "^$PREFIX" }
_files() { }
words=(${words.map((word) => `'${word}'`).join(' ')}); CURRENT=${words.length}; PREFIX=\${words[-1]}; _coind; true`,
    ),
  fish: (words) =>
    said('fish', '--no-config', '-c', `source ./fish; complete -C '${words.join(' ')}'`).replace(/\t.*/g, ''),
}

describe.each(Object.keys(OFFERS))('%s', (shell) => {
  it.skipIf(!has(shell)).each([
    [['coind', 'tx', 'ba'], ['bank']],
    [
      ['coind', 'tx', 'bank', ''],
      ['multi-send', 'send'],
    ],
    [['coind', 'q', 'bank', 'balances', '--den'], ['--denom']],
    [['coind', 'query', 'staking', 'delegations-'], ['delegations-to']],
    [
      ['coind', 'keys', 'add', 'alice', '--multi'],
      ['--multisig', '--multisig-threshold'],
    ],
    [['coind', 'tx', 'sign', 'bank', '--signature'], ['--signature-only']],
  ])('completes %j', (words, expected) => {
    const offered = OFFERS[shell]!(words)
      .split('\n')
      .filter((line) => line !== '')
    expect(offered.toSorted()).toEqual(expected)
  })
})
