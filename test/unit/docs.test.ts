import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { EXPLORER_VARIABLES } from '../../explorer/config/variables.ts'
import manifest from '../../package.json' with { type: 'json' }
import { MESSAGE_COMMANDS } from '../../src/cli/commands/tx.ts'
import { VARIABLES, type Variable } from '../../src/config/variables.ts'
import { AUTHZ_GAS } from '../../src/modules/authz/messages.ts'
import { BANK_GAS } from '../../src/modules/bank/messages.ts'
import { NATIVE_TOKEN_GAS } from '../../src/modules/bank/precompile/nativeToken.ts'
import { DISTRIBUTION_GAS } from '../../src/modules/distribution/messages.ts'
import { FEEGRANT_GAS } from '../../src/modules/feegrant/messages.ts'
import { GOV_GAS } from '../../src/modules/gov/messages.ts'
import { SLASHING_GAS } from '../../src/modules/slashing/messages.ts'
import { STAKING_GAS } from '../../src/modules/staking/messages.ts'
import { VESTING_GAS } from '../../src/modules/vesting/messages.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8')
const PAGES = ['README.md', 'SECURITY.md', ...globSync('docs/**/*.md', { cwd: ROOT })]

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

  it('docs/explorer.md has every variable of the explorer, every path of its API, and every action of Etherscan’s', () => {
    const page = read('docs/explorer.md')
    const sources = (pattern: string) => globSync(pattern, { cwd: ROOT }).map(read)
    const variables = Object.values<Variable>(EXPLORER_VARIABLES).map(({ name }) => name)
    expect(variables.filter((name) => name.startsWith('EXPLORER_') && !page.includes(name))).toEqual([])

    const paths = sources('explorer/!(etherscan)/*.ts').flatMap((text) =>
      [...text.matchAll(/app\.(?:get|post)\(\n? *'\/([^']+)'/g)].map(([, path]) => path!),
    )
    expect(paths.length).toBeGreaterThan(40)
    const inPage = (path: string) => new RegExp(`\`[^\`]*${path.replaceAll(/:\w+/g, '\\{[^}]+\\}')}[?\`]`).test(page)
    expect(paths.filter((path) => !inPage(path))).toEqual([])

    const actions = sources('explorer/etherscan/*.ts').flatMap((text) =>
      [...text.matchAll(/export const \w+_ACTIONS = actionsOf\(\{([^}]*)\}/g)].flatMap(([, list]) =>
        [...list!.matchAll(/^ *(\w+)(?=[:,]|$)/gm), ...list!.matchAll(/, (\w+)/g)].map(([, name]) => name!),
      ),
    )
    const proxied = [...read('explorer/etherscan/proxy.ts').matchAll(/method: '(\w+)'/g)].map(([, name]) => name!)
    expect([actions.length > 30, proxied.length > 10]).toEqual([true, true])
    expect([...actions, ...proxied].filter((name) => !page.includes(`\`${name}\``))).toEqual([])
  })

  it('docs/architecture.md has every part of the explorer', () => {
    const page = read('docs/architecture.md')
    const parts = globSync('explorer/*/', { cwd: ROOT }).filter((path) => !path.endsWith('config'))
    expect(parts.length).toBeGreaterThan(5)
    expect(parts.filter((path) => !page.includes(`\`${path.replace(/\/$/, '')}/\``))).toEqual([])
  })

  it('docs/operations.md has every metric', () => {
    const page = read('docs/operations.md')
    const defined = globSync('src/telemetry/**/*.ts', { cwd: ROOT }).flatMap((file) =>
      [...read(file).matchAll(/name: '(coind_\w+)'/g)].map((match) => match[1]!),
    )
    expect(defined.length).toBeGreaterThan(20)
    expect(defined.filter((name) => !page.includes(name))).toEqual([])
  })

  it('docs/json-rpc.md has the defaults of all limits', () => {
    const units: Readonly<Record<string, number>> = { MiB: 2 ** 20, s: 1000 }
    const rows = [...read('docs/json-rpc.md').matchAll(/^\| [^|]+ \| ([\d,]+) ?(\w*) \| (RPC_\w+) \|$/gm)]
    const defaults = new Map(Object.values<Variable>(VARIABLES).map(({ name, fallback }) => [name, fallback]))
    expect(rows.length).toBeGreaterThan(7)
    for (const [, digits, unit, name] of rows) {
      expect(`${name} ${Number(digits!.replaceAll(',', '')) * (units[unit!] ?? 1)}`).toBe(
        `${name} ${defaults.get(name!)}`,
      )
    }
  })

  it('docs/native-layer.md has the gas of messages', () => {
    const table = /\| message \| gas \|\n.*\n((?: *\|.*\n)+)/.exec(read('docs/native-layer.md'))![1]!
    const rows = table
      .trimEnd()
      .split('\n')
      .map((row) =>
        row
          .split('|')[2]!
          .match(/\d[\d,]*/g)!
          .map((digits) => BigInt(digits.replaceAll(',', ''))),
      )
    const { withdrawRewards, withdrawCommission, setWithdrawAddress, fundCommunityPool } = DISTRIBUTION_GAS
    expect(STAKING_GAS.cancelUnbonding).toBe(STAKING_GAS.delegate)
    expect(rows).toEqual([
      [BANK_GAS.send, BANK_GAS.multiSend, BANK_GAS.output],
      [STAKING_GAS.delegate, STAKING_GAS.undelegate, STAKING_GAS.beginRedelegate],
      [STAKING_GAS.createValidator, STAKING_GAS.editValidator, STAKING_GAS.rotateConsPubKey, SLASHING_GAS.unjail],
      [withdrawRewards, withdrawCommission, setWithdrawAddress, fundCommunityPool],
      [GOV_GAS.submitProposal, GOV_GAS.deposit, GOV_GAS.vote, GOV_GAS.cancelProposal],
      [AUTHZ_GAS.grant, AUTHZ_GAS.revoke, AUTHZ_GAS.exec, AUTHZ_GAS.execMessage],
      [FEEGRANT_GAS.grant, FEEGRANT_GAS.revoke, FEEGRANT_GAS.prune],
      [VESTING_GAS.create, VESTING_GAS.period],
    ])
  })

  it('docs/native-token.md has the gas of every function', () => {
    const rows = [...read('docs/native-token.md').matchAll(/^\| (\w+)(?:, (\w+))?[^|]* \| ([\d,]+) \|/gm)]
    const listed = rows.flatMap(([, name, other, digits]) => {
      const gas = BigInt(digits!.replaceAll(',', ''))
      return [name!, ...(other === undefined || !(other in NATIVE_TOKEN_GAS) ? [] : [other])].map((key) => [key, gas])
    })
    expect(Object.fromEntries(listed)).toEqual(NATIVE_TOKEN_GAS)
  })

  it('docs/rest.md has every module and service', () => {
    const listed = /^Modules:\s.*?\.\s/ms.exec(read('docs/rest.md'))![0]
    const services = globSync(['src/rpc/cosmos/*.ts', 'src/modules/*/queries.ts'], { cwd: ROOT }).flatMap((file) =>
      [...read(file).matchAll(/'cosmos\.[a-z0-9.]*?(\w+)\.v1\w*\.(?:Query|Service)'/g)].map((match) => match[1]!),
    )
    const groups = new Set(services)
    expect(groups.size).toBeGreaterThan(15)
    expect([...groups].filter((group) => !new RegExp(`\\b${group}\\b`).test(listed))).toEqual([])
  })

  it('docs/cli.md has every command that makes a transaction', () => {
    const rows = [...read('docs/cli.md').matchAll(/^\| (`(?!coind )[a-z]+ [a-z-]+`(?:, `[a-z -]+`)*) \|/gm)]
    const listed = rows.flatMap(([, names]) => {
      const [first, ...others] = names!.replaceAll('`', '').split(', ')
      return [first, ...others.map((name) => (name.includes(' ') ? name : `${first!.split(' ')[0]} ${name}`))]
    })
    expect(listed.sort()).toEqual(MESSAGE_COMMANDS.map(({ group, name }) => `${group} ${name}`).sort())
  })

  it('docs/cli.md has every command, docs/CONTRIBUTING.md every script', () => {
    const page = read('docs/cli.md') + read('docs/CONTRIBUTING.md')
    const rows = [...page.matchAll(/^\| `(?:coind|npm run|npm) ([\w:-]+)[^`]*` \|/gm)].map((row) => row[1]!)
    const sources = ['src/cli/program.ts', ...globSync('src/cli/commands/*.ts', { cwd: ROOT })]
    const commands = [
      ...new Set(
        sources.flatMap((file) => [...read(file).matchAll(/\bprogram\s*\.command\('([\w-]+)'/g)].map((m) => m[1]!)),
      ),
    ]
    expect(commands.length).toBeGreaterThan(12)
    // What npm runs by itself, and what the page tells of elsewhere.
    const scripts = Object.keys(manifest.scripts).filter((name) => !/^pre/.test(name))
    expect([...commands, ...scripts].filter((name) => !rows.includes(name) && name !== 'start')).toEqual([])
    expect(rows.filter((name) => ![...commands, ...scripts].includes(name))).toEqual([])
  })

  it('docs/CONTRIBUTING.md and the nightly workflow have every part of test:long', () => {
    const parts = [...read('scripts/testLong.ts').matchAll(/^ {2}(?: {2}|\{ )name: '([\w-]+)',/gm)].map(
      (match) => match[1]!,
    )
    expect(parts.length).toBeGreaterThan(15)
    const row = /`npm run test:long -- \[([^\]]+)\]/.exec(read('docs/CONTRIBUTING.md'))![1]!
    expect(row.split(' ')).toEqual(parts)
    const matrix = /^ {8}part:\n((?: {10}- .+\n)+)/m.exec(read('.github/workflows/nightly.yml'))![1]!
    expect([...matrix.matchAll(/- (.+)/g)].map((match) => match[1]!)).toEqual(parts)
  })

  it('docs/operations.md has every exit code', () => {
    const codes = [...read('src/cli/program.ts').matchAll(/^const EXIT_\w+ = (\d+)$/gm)].map((match) => match[1]!)
    expect(codes.length).toBeGreaterThan(4)
    expect(codes.filter((code) => !read('docs/operations.md').includes(`\n| ${code} | `))).toEqual([])
  })

  it('docs/README.md lists every page', () => {
    const index = read('docs/README.md')
    const pages = globSync('*.md', { cwd: join(ROOT, 'docs') }).filter((page) => page !== 'README.md')
    expect(pages.filter((page) => !index.includes(`](${page})`))).toEqual([])
  })

  it.each(PAGES)('the files and functions that %s names exist', (page) => {
    const named = [...read(page).matchAll(/`((?:src|assembly|test|scripts|bench)\/[\w/.-]+\.\w+)`(?:\s`(\w+)`)?/g)]
    const missing = named.filter(([, file, name]) => {
      if (!existsSync(join(ROOT, file!))) return true
      return name !== undefined && !new RegExp(`\\b${name}\\b`).test(read(file!))
    })
    expect(missing.map(([text]) => text)).toEqual([])
  })

  it.each(PAGES)('the links of %s lead somewhere', (page) => {
    const targets = [...read(page).matchAll(/\]\((?!https?:)([^)#]+)[^)]*\)/g)].map((match) => match[1]!)
    expect(targets.filter((target) => !existsSync(join(ROOT, dirname(page), target)))).toEqual([])
  })
})
