import { spawn } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { exampleGenesis } from '../../../scripts/exampleGenesis.ts'
import { DEVNET_ACCOUNTS } from '../../../src/cli/devnetAccounts.ts'
import type { NodeCommands, RunningNode, StartOptions, Terminal } from '../../../src/cli/ports.ts'
import type { Config } from '../../../src/config/config.ts'
import { ConfigError } from '../../../src/config/configError.ts'
import { ListenError, listener } from '../../../src/config/listeners.ts'
import { VERSION } from '../../../src/config/version.ts'
import { createValidatorKey, formatPublicKey, loadValidatorKey } from '../../../src/consensus/validatorKey.ts'
import { dataPaths } from '../../../src/datadir/dataDirectory.ts'
import { parseAddress, toBech32 } from '../../../src/primitives/address.ts'
import { SnapshotError } from '../../../src/snapshot/manifest.ts'
import { type Ran, runInProcess } from '../../support/cli/inProcess.ts'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'coind-cli-'))
})
afterEach(() => {
  rmSync(directory, { recursive: true })
})

interface Call {
  readonly command: string
  readonly config: Config
  readonly options: unknown
}

interface Outcome extends Ran {
  readonly calls: readonly Call[]
}

interface Setting {
  readonly environment?: Record<string, string>
  /** what startNode does instead of serving */
  readonly start?: (signal: AbortSignal | undefined) => Promise<RunningNode>
  readonly terminal?: Partial<Terminal>
  readonly node?: Partial<NodeCommands>
  /** what is wrong with the state */
  readonly problems?: readonly string[]
}

async function run(args: string, setting: Setting = {}): Promise<Outcome> {
  const calls: Call[] = []
  const record =
    <T>(command: string, result: T) =>
    async (config: Config, options?: unknown): Promise<T> => {
      calls.push({ command, config, options })
      return result
    }
  const ended = Promise.resolve()
  const running: RunningNode = {
    rpcUrl: 'http://127.0.0.1:8080/',
    wsUrl: 'ws://127.0.0.1:8080/ws',
    metricsUrl: undefined,
    height: 0,
    ended,
    stop: () => ended,
  }
  const node: NodeCommands = {
    startNode: async (config: Config, options: StartOptions) => {
      await record('start', undefined)(config, options)
      return setting.start?.(options.signal) ?? running
    },
    supervise: async () => undefined,
    startExplorer: () => Promise.resolve({ url: 'http://127.0.0.1:8090/', stop: () => ended }),
    initNode: record('init', {
      isFresh: true,
      genesisPath: '/g.json',
      genesisHash: 'ab',
      chainId: 'coin_76287-1',
      nodeId: 'cd',
      warnings: ['be careful'],
    }),
    exportBlocks: record('export', { from: 1, to: 10 }),
    exportDirectory: record('exportDirectory', { added: { from: 11, to: 20 }, all: { from: 0, to: 20 } }),
    importBlocks: record('import', { from: 3, to: 2 }),
    backUp: record('backup', { height: 12 }),
    rollback: record('rollback', { from: 9, to: 5 }),
    pruneDatabase: record('prune', { states: 4, bodies: 0, headers: 0, files: 0, indexEntries: 7 }),
    reindexDatabase: record('reindex', {}),
    repairDatabase: record('repair', { isDamaged: false, indexes: {} }),
    compactDatabase: record('compact', { bytesBefore: 12_345_678, bytesAfter: 999 }),
    showNodeId: record('show-node-id', 'ef'.repeat(20)),
    createSnapshot: record('snapshot create', { height: 97, chunks: 5, bytes: 4000 }),
    verifySnapshot: record('snapshot verify', {
      height: 97,
      chunks: 5,
      bytes: 4000,
      consensusHash: new Uint8Array(32).fill(0xab),
    }),
    listSnapshots: record('snapshot list', [{ height: 97, timestamp: 1_700_000_000, chunks: 5, bytes: 4000 }]),
    examineNode: record('doctor', new Map([['disk', [{ state: 'ok', text: '9 GiB free' } as const]]])),
    checkInvariants: record('check-invariants', { height: 7, accounts: 3, problems: setting.problems ?? [] }),
    ...setting.node,
  }
  const { environment = {}, terminal } = setting
  const ran = await runInProcess(directory, args.split(' '), { environment, ...terminal }, node)
  return { ...ran, calls }
}

describe('coind', () => {
  it('passes flags, environment and .env to start', async () => {
    writeFileSync(join(directory, '.env'), 'MONIKER="from file"\nRPC_PORT=1\nLOG_LEVEL=debug\n')
    const environment = { RPC_PORT: '2', LOG_LEVEL: 'warn' }
    const { code, calls } = await run('start --log-level=error --network testnet', { environment })
    expect(code).toBe(0)
    expect(calls).toHaveLength(1)
    expect(calls[0]?.config).toMatchObject({
      moniker: 'from file',
      network: 'testnet',
      rpc: { port: 2 },
      log: { level: 'error' },
    })
  })

  it.each([
    ['start --rpc-prot 1', "unknown option '--rpc-prot' (Did you mean --rpc-port?)"],
    ['strat', "unknown command 'strat' (Did you mean start?)"],
    ['start --rpc-port', "option '--rpc-port <value>' argument missing"],
    ['start --rpc-port x', '--rpc-port is "x": it must be a port from 1 to 65535'],
    ['supervise -- --homedir=/a', 'put --homedir=/a before --: coind supervise needs it too, to find the versions'],
    ['start now', "too many arguments for 'start'. Expected 0 arguments but got 1."],
    ['export', "required option '--out <path>' not specified"],
    ['export --out f --from -1', "option '--from <height>' argument '-1' is invalid. Give a whole number from 0."],
    ['genesis hash missing.json', expect.stringMatching(/cannot read .*missing\.json \(ENOENT\)$/)],
  ])('%s is answered with one line', async (args, line) => {
    const { code, errors, calls } = await run(args)
    expect({ code, errors, calls }).toEqual({ code: 64, errors: [line], calls: [] })
  })

  it('describes the chain of a genesis file or of HOMEDIR, with addresses of options and variables', async () => {
    writeFileSync(join(directory, 'g.json'), exampleGenesis())
    const given = await run('chain-info --format metamask --genesis g.json --rpc-url https://rpc.example.org/', {
      environment: { CHAIN_EXPLORER_URL: 'https://scan.example.org', CHAIN_NAME: 'Our chain' },
    })
    expect(JSON.parse(given.printed)).toMatchObject([
      {
        chainName: 'Our chain',
        rpcUrls: ['https://rpc.example.org'],
        blockExplorerUrls: ['https://scan.example.org'],
      },
    ])
    const { genesis } = dataPaths(join(directory, 'home'))
    mkdirSync(join(genesis, '..'), { recursive: true })
    writeFileSync(genesis, exampleGenesis())
    const own = await run(`chain-info --format keplr --homedir ${join(directory, 'home')}`, {
      environment: { PUBLIC_RPC_URL: 'https://public.example.org' },
    })
    expect(JSON.parse(own.printed)).toMatchObject({
      chainName: 'COIN testnet',
      rpc: 'https://public.example.org/rpc',
      rest: 'https://public.example.org',
    })
    const problems = ['--rest-url nowhere', '--slug My-Chain', '--ws-url https://x.example.org'].map((options) =>
      run(`chain-info --format keplr --genesis g.json ${options}`),
    )
    expect((await Promise.all(problems)).map(({ code, errors }) => [code, errors])).toEqual([
      [64, ['CHAIN_REST_URL is "nowhere": expected an address such as http://localhost:8080']],
      [64, ['CHAIN_SLUG is My-Chain: use lowercase letters and digits']],
      [64, ['CHAIN_WS_URL is "https://x.example.org": expected an address such as ws://localhost:8080']],
    ])
    const unreachable = await run('chain-info --format viem --node http://127.0.0.1:1')
    expect(unreachable).toMatchObject({ code: 69, errors: [expect.stringContaining('no answer from')] })
  })

  it('shows one line for a mistake that the node finds, and for a port in use', async () => {
    const mistake = await run('start', { start: () => Promise.reject(new ConfigError('GENESIS_WALLET is not set')) })
    expect([mistake.code, mistake.errors]).toEqual([64, ['GENESIS_WALLET is not set']])
    const inUse = new ListenError(listener('RPC', '0.0.0.0', 8080), 'EADDRINUSE')
    const busy = await run('start', { start: () => Promise.reject(inUse) })
    const line = 'RPC_PORT is 8080: another program listens on 0.0.0.0:8080; stop it, or choose another port'
    expect([busy.code, busy.errors]).toEqual([69, [line]])
    const elsewhere = Object.assign(new Error('another genesis'), { name: 'GenesisMismatch' })
    const mismatch = await run('start', { start: () => Promise.reject(elsewhere) })
    expect([mismatch.code, mismatch.errors]).toEqual([65, ['another genesis']])
    const inThread = new Error('the socket thread failed', { cause: inUse })
    const thread = await run('start', { start: () => Promise.reject(inThread) })
    expect([thread.code, thread.errors]).toEqual([69, [line]])
    const file = await run('start', { start: async () => openSync(join(directory, 'no/such'), 'r') as never })
    expect([file.code, file.errors]).toEqual([
      69,
      [`${join(directory, 'no/such')} does not exist, or its parent directory does not`],
    ])
    const taken = await run('start', { start: async () => mkdirSync(directory) as never })
    expect([taken.code, taken.errors]).toEqual([69, [`${directory} already exists: name another one, or move it away`]])
    const strange = Object.assign(new Error('EMFILE: too many open files'), { code: 'EMFILE', path: '/x' })
    expect(await run('start', { start: () => Promise.reject(strange) })).toMatchObject({
      code: 69,
      errors: ['EMFILE: too many open files'],
    })
    await expect(run('start', { start: () => Promise.reject(new TypeError('bug')) })).rejects.toThrow('bug')
  })

  it('prints what init made', async () => {
    const { printed, calls } = await run('init --network testnet')
    expect(calls[0]).toMatchObject({ command: 'init', config: { network: 'testnet' } })
    expect(printed).toContain('Created /g.json')
    expect(printed).toContain('Warning: be careful')
  })

  it('exports and imports with paths of the working directory', async () => {
    const exported = await run('export --out blocks --from 2 --to 9')
    expect(exported.calls[0]?.options).toMatchObject({ out: join(directory, 'blocks'), from: 2, to: 9 })
    expect(exported.printed).toBe('Exported 10 blocks, 1 to 10, to blocks\n')
    const more = await run('export --out blocks --directory --to 20')
    expect(more.calls[0]).toMatchObject({
      command: 'exportDirectory',
      options: { out: join(directory, 'blocks'), to: 20 },
    })
    expect(more.printed).toBe('Exported 10 more blocks: blocks now has 0 to 20\n')
    const mirrors = ['https://a/blocks/', 'https://b/']
    const mirrored = await run(`export --out blocks --directory --mirror ${mirrors.join(' --mirror ')}`)
    expect(mirrored.calls[0]?.options).toMatchObject({ mirrors })
    expect((await run('export --out blocks --mirror https://a/')).errors[0]).toMatch(/^--mirror requires --directory/)
    expect((await run('export --out blocks --directory --from 2')).errors[0]).toMatch(
      /^--from cannot be used with --directory/,
    )
    const again = await run('import blocks', { node: { importBlocks: async () => ({ from: 11, to: 10 }) } })
    expect(again.printed).toBe('Imported nothing: this node already has block 10, the last one\n')
    const imported = await run('import blocks')
    expect(imported.calls[0]?.options).toMatchObject({ place: join(directory, 'blocks') })
    const fetched = await run('import https://host/blocks')
    expect(fetched.calls[0]?.options).toMatchObject({ place: new URL('https://host/blocks') })
    expect((await run('import ftp://host/blocks')).errors[0]).toMatch(/^ftp:\/\/host\/blocks must be a path/)
  })

  it.each([
    ['export --out blocks', '', 'interrupted: nothing was exported'],
    [
      'import blocks',
      'Imported 2 blocks, 1 to 2\n',
      'interrupted: run the same command again to continue with the next block',
    ],
  ])('%s ends with what is done at a stop signal', async (args, output, line) => {
    let stop = (): void => undefined
    const onStopSignal: Terminal['onStopSignal'] = (handler) => {
      stop = handler
    }
    const exportBlocks: NodeCommands['exportBlocks'] = async (_, { signal }) => {
      stop()
      throw signal.reason
    }
    const importBlocks: NodeCommands['importBlocks'] = async (_, { signal }) => {
      stop()
      return { from: 1, to: signal.aborted ? 2 : 3 }
    }
    const { code, printed, errors } = await run(args, {
      terminal: { onStopSignal },
      node: { exportBlocks, importBlocks },
    })
    expect({ code, printed, errors }).toEqual({ code: 130, printed: output, errors: [line] })
  })

  it('says what was deleted, and how much room is given back', async () => {
    expect(await run('prune --pruning 100')).toMatchObject({
      code: 0,
      calls: [{ command: 'prune', config: { pruning: 100, blockHistory: 0, index: 'all' } }],
      printed:
        'Deleted the states of 4 blocks, 7 entries of indexes\n' +
        'The disk space is freed over time, or immediately by `coind compact`\n',
    })
    const pruneDatabase = async () => ({ states: 0, bodies: 0, headers: 0, files: 0, indexEntries: 0 })
    expect((await run('prune', { node: { pruneDatabase } })).printed).toMatch(/^Nothing to do: /)
    expect((await run('compact')).printed).toBe('Compacted the database from 12.3 MB to 999 bytes\n')
  })

  it.each(['prune', 'compact', 'reindex'])('%s can be stopped', async (command) => {
    let stop = (): void => undefined
    const onStopSignal: Terminal['onStopSignal'] = (handler) => {
      stop = handler
    }
    const stopped = async (_: Config, signal: AbortSignal): Promise<never> => {
      stop()
      throw signal.reason
    }
    const node = { pruneDatabase: stopped, compactDatabase: stopped, reindexDatabase: stopped }
    const { code, errors } = await run(command, { terminal: { onStopSignal }, node })
    expect({ code, errors }).toEqual({ code: 130, errors: ['interrupted: run the same command again to continue'] })
  })

  it('says what was wrong in the indexes', async () => {
    expect(await run('reindex')).toMatchObject({ code: 0, printed: 'Nothing was wrong\n' })
    const reindexDatabase = async () => ({ transaction: { missing: 2, changed: 0, extra: 1 } })
    expect((await run('reindex', { node: { reindexDatabase } })).printed).toBe(
      'transaction: 2 missing, 0 changed, 1 without a block\nEverything is repaired\n',
    )
  })

  it('says what is damaged and what it does, before it is done', async () => {
    expect(await run('repair --from there --from https://example.org/segments')).toMatchObject({
      code: 0,
      printed: 'No damage was found\n',
      calls: [
        { options: { from: [join(directory, 'there'), new URL('https://example.org/segments')], isDryRun: false } },
      ],
    })
    const repairDatabase: NodeCommands['repairDatabase'] = async (_, { onPlan }) => {
      onPlan(['a file', 'a value'], ['write it anew'])
      return { isDamaged: true, indexes: { logTerm: { missing: 2, changed: 0, extra: 0 } } }
    }
    const plan = 'Damage:\n  a file\n  a value\nTo repair it:\n  write it anew\n'
    expect(await run('repair --dry-run', { node: { repairDatabase } })).toMatchObject({
      code: 65,
      printed: plan,
      errors: ['found 2 kinds of damage and changed nothing: run coind repair to repair it'],
    })
    expect(await run('repair', { node: { repairDatabase } })).toMatchObject({
      code: 0,
      printed: `${plan}logTerm: 2 missing, 0 changed, 0 without a block\nThe database is repaired and verified: start the node\n`,
    })
  })

  it('makes a backup', async () => {
    expect(await run('backup --out there')).toMatchObject({
      code: 0,
      printed: 'Backed up the chain up to block 12 to there, without keys (--with-keys)\n',
      calls: [{ command: 'backup', options: { out: join(directory, 'there'), withKeys: false } }],
    })
    expect((await run('backup --out there --with-keys')).printed).toMatch(/ to there, with its keys\n$/)
    expect(await run('backup')).toMatchObject({ code: 64 })
    expect((await run('start --signer-moved')).calls[0]).toMatchObject({ options: { signerMoved: true } })
  })

  it('undoes blocks, and says how to go on when it was stopped', async () => {
    const { code, printed, calls } = await run('rollback --to 5 --save blocks')
    expect({ code, printed }).toEqual({ code: 0, printed: 'Undid 4 blocks: block 5 is now the newest\n' })
    expect(calls[0]).toMatchObject({ command: 'rollback', options: { to: 5, save: join(directory, 'blocks') } })
    const same = async () => ({ from: 5, to: 5 })
    const none = await run('rollback --to 5', { node: { rollback: same } })
    expect(none).toMatchObject({ code: 0, printed: 'Nothing to do: block 5 is already the newest\n' })
    expect(await run('rollback --to 3')).toMatchObject({
      code: 130,
      errors: ['interrupted: run the command again with another file for --save to continue'],
    })
    expect(await run('rollback')).toMatchObject({ code: 64 })
    expect(await run('rollback --to x')).toMatchObject({ code: 64 })
  })

  it('makes, verifies and lists snapshots', async () => {
    const made = await run('snapshot create --out shot --height 97')
    expect(made).toMatchObject({
      code: 0,
      printed: `Created a snapshot of block 97: 5 chunks, 4000 bytes, in ${join(directory, 'shot')}\n`,
      calls: [{ command: 'snapshot create', options: { out: join(directory, 'shot'), height: 97 } }],
    })
    for (const [place, read] of [
      ['shot', join(directory, 'shot')],
      ['https://host/shot/', new URL('https://host/shot/')],
    ] as const) {
      const verified = await run(`snapshot verify ${place}`)
      expect(verified.printed).toContain('The snapshot of block 97 is complete and consistent: 5 chunks, 4000 bytes\n')
      expect(verified.printed).toContain(
        `It is the chain's state if the chain's block 97 has this hash: ${'AB'.repeat(32)}\n`,
      )
      expect(verified.calls[0]!.options).toEqual(read)
    }
    for (const place of ['ftp://host/shot', 'http://[::1', 'file:///shot']) {
      const { code, errors, calls } = await run(`snapshot verify ${place}`)
      expect([code, errors, calls]).toEqual([
        64,
        [`${place} must be a path, or an address that starts with http:// or https://`],
        [],
      ])
    }
    const listed = await run('snapshot list')
    expect(listed.printed).toBe('block 97  2023-11-14T22:13:20Z  5 chunks  4000 bytes\n')
    const none = await run('snapshot list', { node: { listSnapshots: async () => [] } })
    expect(none.printed).toBe('There are no snapshots.\n')

    const verifySnapshot = async () => {
      throw new SnapshotError('ab.zst (codes) is bad')
    }
    expect(await run('snapshot verify shot', { node: { verifySnapshot } })).toMatchObject({
      code: 65,
      errors: ['ab.zst (codes) is bad'],
    })
    for (const args of [
      'snapshot create',
      'snapshot create --out a --height x',
      'snapshot create --out a --mirror ftp://host/',
      'snapshot verify',
      'snapshot',
    ]) {
      expect(await run(args)).toMatchObject({ code: 64 })
    }
    const mirrored = await run('snapshot create --out a --mirror https://a/x/ --mirror http://b/')
    expect(mirrored.calls[0]?.options).toMatchObject({ mirrors: ['https://a/x/', 'http://b/'] })
  })

  it('ends the making of a snapshot when it is stopped', async () => {
    let stop = (): void => undefined
    const createSnapshot: NodeCommands['createSnapshot'] = async (_, { signal }) => {
      stop()
      throw signal.reason
    }
    const onStopSignal = (handler: () => void): void => {
      stop = handler
    }
    const { code, errors } = await run('snapshot create --out a', {
      terminal: { onStopSignal },
      node: { createSnapshot },
    })
    expect({ code, errors }).toEqual({ code: 130, errors: ['interrupted: no snapshot was made'] })
  })

  it('says of a machine what keeps a node from its work, and ends with code 1 where something does', async () => {
    expect(await run('doctor')).toMatchObject({ code: 0, printed: 'ok       disk      9 GiB free\n', errors: [] })
    const found = new Map([['clock', [{ state: 'problem', text: 'behind' } as const]]])
    const node = { examineNode: async () => found }
    const errors = ['1 of 1 checks found a problem']
    expect(await run('doctor', { node })).toMatchObject({ code: 1, printed: 'PROBLEM  clock     behind\n', errors })
    const { printed } = await run('doctor --json', { node })
    expect(JSON.parse(printed)).toEqual([{ check: 'clock', state: 'problem', text: 'behind' }])
  })

  it('prints what the state breaks', async () => {
    expect(await run('debug invariants')).toMatchObject({
      code: 0,
      printed: 'block 7: all invariants hold, 3 accounts\n',
    })
    expect(await run('debug invariants', { problems: ['one', 'two'] })).toMatchObject({
      code: 65,
      printed: 'one\ntwo\n',
      errors: ['block 7: 2 invariants do not hold'],
    })
  })

  it('prints node ID, version and genesis hash', async () => {
    expect((await run('show-node-id')).printed).toBe(`${'ef'.repeat(20)}\n`)
    for (const args of ['version', '--version', '-V']) {
      expect(await run(args)).toMatchObject({ code: 0, printed: `coind ${VERSION} (linux-x64)\n` })
    }
    writeFileSync(join(directory, 'g.json'), exampleGenesis())
    const byName = await run('genesis hash g.json')
    expect(byName.printed).toMatch(/^[0-9a-f]{64}\n$/)
    mkdirSync(join(directory, 'config'))
    writeFileSync(join(directory, 'config/genesis.json'), exampleGenesis())
    expect((await run(`genesis hash --homedir ${directory}`)).printed).toBe(byName.printed)
  })

  it('shows the flags in the help', async () => {
    const { code, printed } = await run('start --help')
    expect(code).toBe(0)
    expect(printed).toMatch(/JSON-RPC:\n.*--rpc-host/)
    expect(printed).toContain('--genesis-self-delegation <value>')
  })

  it.each([
    ['help tx', /\n {2}staking .*\n/],
    ['help query', /\n {2}bank .*\n/],
    ['testnet --help', /--network <value> [^(]*\(default:\s+testnet\)/],
    ['devnet --help', /--rpc-host <value> .*\(default:\s+127\.0\.0\.1\)/],
  ])('%s shows what is there, with the defaults of the command', async (args, expected) => {
    expect(await run(args)).toMatchObject({ code: 0, printed: expect.stringMatching(expected) })
  })

  it('signs messages of the given key alone', async () => {
    const [own, other] = DEVNET_ACCOUNTS
    const message = (from: string) =>
      JSON.stringify({ '@type': '/cosmos.bank.v1beta1.MsgSend', from_address: from, to_address: from, amount: [] })
    const environment = { COIND_PRIVATE_KEY: own!.privateKey, COIND_NODE: 'http://127.0.0.1:1' }
    const [mine, theirs] = [own!, other!].map(({ address }) => toBech32(address))
    writeFileSync(join(directory, 'm.json'), message(theirs!))
    const refused = await run('tx messages send m.json', { environment })
    const line = `/cosmos.bank.v1beta1.MsgSend must be signed by ${theirs}, not by ${mine}`
    expect([refused.code, refused.errors]).toEqual([64, [line]])
    const elsewhere = await run(`tx messages send m.json --from ${theirs}`, { environment })
    expect([elsewhere.code, elsewhere.errors]).toEqual([
      64,
      [expect.stringMatching(/^COIND_PRIVATE_KEY holds the key of/)],
    ])
    writeFileSync(join(directory, 'm.json'), message('nobody'))
    const wrong = await run('tx messages send m.json', { environment })
    expect([wrong.code, wrong.errors]).toEqual([64, [expect.stringMatching(/signer's address is invalid/)]])
    writeFileSync(join(directory, 'm.json'), message(mine!))
    const asked = await run(`tx messages send m.json --from ${mine}`, { environment })
    expect([asked.code, asked.errors]).toEqual([69, [expect.stringMatching(/^no answer from http:\/\/127\.0\.0\.1:1/)]])
  })
})

describe('coind reset', () => {
  function home(): string {
    const path = join(directory, 'home')
    mkdirSync(join(path, 'config'), { recursive: true })
    for (const name of ['genesis.json', 'priv_validator_key.json', 'node_key.json']) {
      writeFileSync(join(path, 'config', name), name)
    }
    mkdirSync(join(path, 'db'))
    mkdirSync(join(path, 'wal'))
    return path
  }

  it('says what it would remove, removes it when told so, and has nothing to do then', async () => {
    const path = home()
    const asked = await run(`reset --homedir ${path}`)
    expect(asked.code).toBe(64)
    expect(asked.errors).toEqual([
      `reset permanently removes ${path}/config/genesis.json, ${path}/db, ${path}/wal, but not the keys: confirm with --yes`,
    ])
    expect(existsSync(join(path, 'db'))).toBe(true)
    const done = await run(`reset --yes --homedir ${path}`)
    expect([done.code, done.errors]).toEqual([0, []])
    expect(done.printed).toMatch(/^Removed .*genesis\.json, .*db, .*wal\nThe keys in .*config remain\.\n$/)
    expect(readdirSync(path)).toEqual(['config', 'lock'])
    expect(readdirSync(join(path, 'config')).sort()).toEqual(['node_key.json', 'priv_validator_key.json'])
    expect((await run(`reset --yes --homedir ${path}`)).printed).toBe(`Nothing to do: there is no chain in ${path}\n`)
  })

  it('refuses a directory that is not there, or that a node runs in', async () => {
    const missing = await run(`reset --yes --homedir ${join(directory, 'none')}`)
    expect(missing.errors).toEqual([expect.stringMatching(/none does not exist/)])
    expect(existsSync(join(directory, 'none'))).toBe(false)
    const path = home()
    // Within one process the lock can be taken twice.
    const module = new URL('../../../src/datadir/dataDirectory.ts', import.meta.url).href
    const holder = spawn(process.execPath, [
      '--input-type=module',
      '-e',
      `import { lockHome } from '${module}'
      await lockHome(${JSON.stringify(dataPaths(path))}, process.pid)
      console.log('locked')
      setInterval(() => undefined, 1000)`,
    ])
    await new Promise((resolve) => holder.stdout.once('data', resolve))
    const busy = await run(`reset --yes --homedir ${path}`)
    expect([busy.code, busy.errors]).toEqual([64, [expect.stringMatching(/^another coind .* is using HOMEDIR/)]])
    expect(existsSync(join(path, 'config/genesis.json'))).toBe(true)
    holder.kill('SIGKILL')
    await new Promise((resolve) => holder.once('exit', resolve))
  })
})

describe('stop signals', () => {
  async function withSignals(timesMs: readonly number[], beforeUp = false) {
    let handler = (): void => undefined
    let nowMs = 0
    const events: string[] = []
    let end = (): void => undefined
    const ended = new Promise<void>((resolve) => {
      end = resolve
    })
    const signalAll = (): void => {
      for (const time of timesMs) {
        nowMs = time
        handler()
      }
      setTimeout(end, 1)
    }
    const start = async (): Promise<RunningNode> => {
      if (beforeUp) signalAll()
      else setTimeout(signalAll, 1)
      const stop = async (): Promise<void> => {
        events.push('stop')
      }
      return { rpcUrl: '', wsUrl: '', metricsUrl: undefined, height: 0, ended, stop }
    }
    const terminal: Partial<Terminal> = {
      now: () => nowMs,
      onStopSignal: (given) => {
        handler = given
      },
      exitNow: ((code: number) => events.push(`exit ${code}`)) as unknown as Terminal['exitNow'],
    }
    const { code } = await run('start', { start, terminal })
    return { code, events }
  }

  it.each<[string, number[], boolean, string[]]>([
    ['one stops the node', [0], false, ['stop']],
    ['the same one passed on twice is one', [0, 20], false, ['stop']],
    ['a second one ends the process', [0, 2000], false, ['stop', 'exit 130']],
    ['one during the start stops the node when it is up', [0], true, ['stop']],
  ])('%s', async (_, times, beforeUp, events) => {
    expect(await withSignals(times, beforeUp)).toEqual({ code: 0, events })
  })

  it('one ends a start that waits for another node, without an error', async () => {
    let handler = (): void => undefined
    const start = (signal: AbortSignal | undefined): Promise<RunningNode> =>
      new Promise((_, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason))
        setTimeout(() => handler(), 1)
      })
    const onStopSignal: Terminal['onStopSignal'] = (given) => {
      handler = given
    }
    const { code, errors } = await run('start', { start, terminal: { onStopSignal } })
    expect([code, errors]).toEqual([0, []])
  })

  it.each([
    ['SeedRefusedError', 65],
    ['SeedUnavailableError', 69],
    ['SyncError', 65],
    ['NodeUnreachable', 69],
    ['ThreadStartTimeout', 69],
    ['DecidedBlockError', 1],
    ['NodeRefused', 1],
    ['Interrupted', 130],
  ])('%s is one line and exit code %i', async (name, exitCode) => {
    const error = Object.assign(new Error('what is wrong'), { name })
    const { code, errors } = await run('start', { start: () => Promise.reject(error) })
    expect([code, errors]).toEqual([exitCode, ['what is wrong']])
  })
})

describe('coind devnet', () => {
  it('starts a testnet with funded accounts whatever the environment of a real node says', async () => {
    writeFileSync(join(directory, '.env'), 'HOMEDIR=/var/lib/coind\nRPC_PORT=9000\nGENESIS_HASH=ff\n')
    const environment = {
      NETWORK: 'mainnet',
      CHAIN_ID: 'coin_7628-1',
      HOMEDIR: '/var/lib/coind',
      JOIN_NETWORK: 'true',
      EXPLORER_HEARTBEAT_URL: 'https://explorer.example',
      VIEW_THREADS: '3',
    }
    const { code, printed, calls } = await run('devnet --log-level warn', { environment })
    expect(code).toBe(0)
    expect(calls[0]?.config).toMatchObject({
      network: 'devnet',
      chainId: 'coin_76287-1',
      evmChainId: 76287n,
      homedir: join(directory, '.devnet'),
      heartbeatUrl: 'http://127.0.0.1:8090/api/network/heartbeat',
      rpc: { host: '127.0.0.1', port: 9000, viewThreads: 3, rateLimit: 0 },
      genesis: { wallet: parseAddress('0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266') },
      log: { level: 'warn' },
    })
    const { fundedAccounts } = calls[0]!.options as StartOptions
    expect(fundedAccounts).toHaveLength(9)
    expect(printed).toContain('http://127.0.0.1:8080/')
    expect(printed).toContain('http://127.0.0.1:8090/')
    expect(printed).toMatch(/Chain ID +76287 \(0x129ff\)/)
    expect(printed).toContain(`0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266  ${toBech32(DEVNET_ACCOUNTS[0]!.address)}`)
    expect(printed).toContain('FOR DEVELOPMENT ONLY')
    // Those of a real explorer that a devnet takes, and those that are its own.
    const ofExplorer = {
      EXPLORER_PORT: '9090',
      EXPLORER_HOST: '::1',
      EXPLORER_CHAIN_NAME: 'Ours',
      EXPLORER_PUBLIC_RPC_URL: 'http://devnet.example/',
      EXPLORER_NODE_URL: 'https://node.example/',
      EXPLORER_DATABASE: 'postgres://explorer.example/index',
      EXPLORER_FAUCET_KEY_FILE: '/etc/faucet.key',
    }
    const explorers: unknown[] = []
    const startExplorer: NodeCommands['startExplorer'] = async (variables) => {
      explorers.push(variables)
      return { url: 'http://[::1]:9090/', stop: () => Promise.resolve() }
    }
    const named = await run('devnet', { environment: { ...environment, ...ofExplorer }, node: { startExplorer } })
    expect(named.calls[0]?.config.heartbeatUrl).toBe('http://[::1]:9090/api/network/heartbeat')
    expect(explorers[0]).toEqual({
      EXPLORER_NODE_URL: 'http://127.0.0.1:9000/',
      EXPLORER_HOST: '::1',
      EXPLORER_PORT: '9090',
      EXPLORER_DATABASE: join(directory, '.devnet/explorer.sqlite'),
      EXPLORER_PUBLIC_RPC_URL: 'http://devnet.example/',
      EXPLORER_CHAIN_NAME: 'Ours',
      EXPLORER_FAUCET_KEY_FILE: join(directory, '.devnet/faucet.key'),
      LOG_LEVEL: 'warn',
    })
    writeFileSync(join(directory, '.env'), 'EXPLORER_PORT=9191\n')
    expect((await run('devnet')).calls[0]?.config.heartbeatUrl).toContain(':9191/')
    expect((await run('devnet --explorer-port 9292')).calls[0]?.config.heartbeatUrl).toContain(':9292/')
    const wrong = await run('devnet', { environment: { EXPLORER_PORT: '70000' } })
    expect([wrong.code, wrong.errors]).toEqual([64, [expect.stringMatching(/^EXPLORER_PORT is "70000"/)]])
    expect((await run('devnet --no-explorer', { environment: { EXPLORER_PORT: '70000' } })).code).toBe(0)
    const alone = await run('devnet --no-explorer', { environment })
    expect(alone.calls[0]?.config.heartbeatUrl).toBeUndefined()
  })

  it('takes --rpc-host and deletes only what a devnet made', async () => {
    expect((await run('devnet --rpc-host 0.0.0.0')).calls[0]?.config.rpc.host).toBe('0.0.0.0')
    const home = join(directory, '.devnet')
    mkdirSync(join(home, 'db'))
    writeFileSync(join(home, 'db/CURRENT'), '')
    writeFileSync(join(home, 'notes.txt'), 'mine')
    await run('devnet')
    expect(existsSync(join(home, 'db/CURRENT'))).toBe(true)
    await run('devnet --reset')
    expect(existsSync(join(home, 'db'))).toBe(false)
    expect(readFileSync(join(home, 'notes.txt'), 'utf8')).toBe('mine')

    const other = join(directory, 'validator')
    mkdirSync(join(other, 'config'), { recursive: true })
    const refused = await run(`devnet --reset --homedir ${other}`)
    expect(refused.code).toBe(64)
    expect(refused.errors[0]).toContain('was not created by coind devnet')
    expect(existsSync(join(other, 'config'))).toBe(true)
  })
})

describe('consensus-key', () => {
  const setting = () => ({ environment: { HOMEDIR: directory } })

  it('makes the next key, for its owner alone, beside the present one, and shows both', async () => {
    const paths = dataPaths(directory)
    expect(await run('consensus-key show', setting())).toMatchObject({ code: 64 })
    expect((await run('consensus-key next', setting())).errors.join()).toMatch('create a key with coind init first')
    mkdirSync(paths.config)
    createValidatorKey(paths.validatorKey, new Uint8Array(32).fill(1))
    const made = await run('consensus-key next', setting())
    expect(made.code).toBe(0)
    expect(statSync(paths.nextValidatorKey).mode & 0o777).toBe(0o600)
    const next = loadValidatorKey(paths.nextValidatorKey)!
    expect(made.printed).toMatch(
      `rotate-cons-pub-key '{"@type":"/cosmos.crypto.ed25519.PubKey","key":"${Buffer.from(next.publicKey).toString('base64')}"}'`,
    )
    const shown = await run('consensus-key show', setting())
    for (const path of [paths.validatorKey, paths.nextValidatorKey]) {
      const { address } = loadValidatorKey(path)!
      expect(shown.printed).toMatch(Buffer.from(address).toString('hex').toUpperCase())
    }
    // Where a remote signer has the key, its public key is in a file.
    rmSync(paths.validatorKey)
    rmSync(paths.nextValidatorKey)
    writeFileSync(paths.signerPublicKey, JSON.stringify(formatPublicKey(next.publicKey)))
    expect((await run('consensus-key show', setting())).printed).toMatch('priv_validator_pub_key.json')
    expect((await run('consensus-key next', setting())).code).toBe(0)
  })

  it('never replaces a key', async () => {
    const paths = dataPaths(directory)
    mkdirSync(paths.config)
    createValidatorKey(paths.validatorKey, new Uint8Array(32).fill(1))
    const next = createValidatorKey(paths.nextValidatorKey, new Uint8Array(32).fill(2))
    expect((await run('consensus-key next', setting())).errors.join()).toMatch('exists already')
    expect(loadValidatorKey(paths.nextValidatorKey)).toEqual(next)
  })
})
