import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Command } from 'commander'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { genesisHash } from '../../../../src/chain/genesis/genesis.ts'
import { addTestnet } from '../../../../src/cli/commands/testnet.ts'
import type { NodeCommands, Terminal } from '../../../../src/cli/ports.ts'
import { readGenesisFile } from '../../../../src/datadir/initNode.ts'
import { bytesToHex } from '../../../../src/primitives/bytes.ts'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'coind-testnet-'))
})
afterEach(() => {
  rmSync(directory, { recursive: true })
})

async function run(args: string): Promise<string> {
  let printed = ''
  const terminal = {
    // Those of a real node must not matter.
    environment: { NETWORK: 'mainnet', CHAIN_ID: 'coin_7628-1', HOMEDIR: '/nowhere' },
    workingDirectory: directory,
    homeDirectory: '/home/someone',
    print: (text: string) => {
      printed += text
    },
  } as unknown as Terminal
  const program = new Command().exitOverride().configureOutput({ writeErr: () => undefined })
  addTestnet(program, {} as NodeCommands, terminal)
  await program.parseAsync(['testnet', ...args.split(' ').filter((word) => word !== '')], { from: 'user' })
  return printed
}

describe('coind testnet', () => {
  it('writes four validators of the testnet by default', async () => {
    const printed = await run('')
    expect(readdirSync(join(directory, 'testnet')).sort()).toEqual([
      'join.env',
      'node0',
      'node1',
      'node2',
      'node3',
      'wallet.json',
    ])
    expect(readFileSync(join(directory, 'testnet/node3/.env'), 'utf8')).toContain('CHAIN_ID=coin_76287-1\n')
    expect(printed).toMatch(/genesis hash {2}[0-9a-f]{64}\n/)
    expect(printed).toContain('node3    validator  http://127.0.0.1:26630  ')
  })

  it('takes size, place, chain and wallet from its flags', async () => {
    const wallet = '--genesis-wallet 0x00000000000000000000000000000000c0ffee00 --genesis-self-delegation 7'
    const place = '--output-dir net --hostname-prefix host --chain-id own_5-1'
    const printed = await run(`--validators 2 --full-nodes 1 ${place} ${wallet}`)
    const genesis = JSON.parse(readFileSync(join(directory, 'net/host2/config/genesis.json'), 'utf8'))
    expect([genesis.chain_id, genesis.consensus.validators.map((entry: { power: string }) => entry.power)]).toEqual([
      'own_5-1',
      ['7', '7'],
    ])
    expect(existsSync(join(directory, 'net/wallet.json'))).toBe(false)
    expect(printed).toContain('host2    full node  http://host2:8080  ')
    expect(printed).toContain('  cd host0 && HOMEDIR=$PWD coind start\n')
    expect(await run('--edit --output-dir net')).toContain('net/host0/config/genesis.json')
  })

  it('gives the operators that it makes coins for their fees', async () => {
    await run('--validators 2 --output-dir net')
    const { bech32_address: operator } = JSON.parse(
      readFileSync(join(directory, 'net/node1/config/operator_key.json'), 'utf8'),
    )
    const genesis = JSON.parse(readFileSync(join(directory, 'net/node0/config/genesis.json'), 'utf8'))
    const { balances } = genesis.app_state.bank
    expect(balances.find(({ address }: { readonly address: string }) => address === operator)).toEqual({
      address: operator,
      coins: [{ denom: 'acoin', amount: (100n * 10n ** 18n).toString() }],
    })
  })

  it('gives all nodes an edited genesis and its hash', async () => {
    await run('--validators 2 --full-nodes 1 --output-dir net')
    const path = join(directory, 'net/node0/config/genesis.json')
    const genesis = JSON.parse(readFileSync(path, 'utf8'))
    genesis.app_state.staking.params.max_validators = 7
    writeFileSync(path, JSON.stringify(genesis))
    const hash = /hash is now ([0-9a-f]{64})\n/.exec(await run('--edit --output-dir net'))?.[1]
    expect(hash).toBe(bytesToHex(genesisHash(readGenesisFile(path))).slice(2))
    for (const name of ['node0', 'node1', 'node2']) {
      expect(readFileSync(join(directory, 'net', name, 'config/genesis.json'), 'utf8')).toBe(readFileSync(path, 'utf8'))
      expect(readFileSync(join(directory, 'net', name, '.env'), 'utf8')).toContain(`\nGENESIS_HASH=${hash}\n`)
    }
    expect(readFileSync(join(directory, 'net/join.env'), 'utf8')).toContain(`\nGENESIS_HASH=${hash}\n`)
    writeFileSync(join(directory, 'other.json'), JSON.stringify({ ...genesis, chain_id: 'x' }))
    await expect(run('--edit other.json --output-dir net')).rejects.toThrow(/other\.json|chain_id/)
    await expect(run('--edit --output-dir elsewhere')).rejects.toThrow('elsewhere does not hold a test network')
    mkdirSync(join(directory, 'net/node1/db'))
    await expect(run('--edit --output-dir net')).rejects.toThrow('has already started its chain')
  })

  it.each([
    ['--validators 0', /from 1 to 50/],
    ['--validators 51', /from 1 to 50/],
    ['--validators two', /from 1 to 50/],
    ['--full-nodes -1', /from 0 to 50/],
    ['--starting-port 65000', /from 1 to 64535/],
    ['--chain-id coin-1', /CHAIN_ID/],
  ])('refuses %s', async (args, problem) => {
    await expect(run(args)).rejects.toThrow(problem)
    expect(readdirSync(directory)).toEqual([])
  })
})
