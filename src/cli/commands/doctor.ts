import type { Command } from 'commander'
import { addConfigFlags, configOf } from '../configFlags.ts'
import type { NodeCommands, Terminal } from '../ports.ts'

/** A problem keeps the node from its work. It is printed before this is thrown. */
class ProblemsFound extends Error {
  override readonly name = 'ProblemsFound'
}

const MARKS = { ok: 'ok', warning: 'WARNING', problem: 'PROBLEM' } as const
const MARK_WIDTH = 9
const CHECK_WIDTH = 10

/** Adds `coind doctor`: looks for what keeps a node with these settings from its work, and says what to do. */
export function addDoctor(program: Command, node: NodeCommands, terminal: Terminal): void {
  const command = program
    .command('doctor')
    .description('Check settings, keys, disk, limits, ports, clock and peers of a node; it may be running')
    .option('--json', 'print the findings as JSON')
  addConfigFlags(command).action(async ({ json }: { readonly json?: true }) => {
    const found = await node.examineNode(configOf(command, terminal))
    const findings = [...found].flatMap(([check, all]) => all.map((finding) => ({ check, ...finding })))
    if (json) terminal.print(`${JSON.stringify(findings, undefined, 2)}\n`)
    else {
      for (const { check, state, text } of findings) {
        terminal.print(`${MARKS[state].padEnd(MARK_WIDTH)}${check.padEnd(CHECK_WIDTH)}${text}\n`)
      }
    }
    const problems = findings.filter(({ state }) => state === 'problem').length
    if (problems > 0) throw new ProblemsFound(`${problems} of ${findings.length} checks found a problem`)
  })
}
