import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { planPlatform } from '../../../src/operator/supervise/checksums.ts'
import { toBech32 } from '../../../src/primitives/address.ts'
import { hexToBytes } from '../../../src/primitives/bytes.ts'
import { planInfo, putArchive, sha256Of } from '../../support/operator/supervise/fakeVersions.ts'
import { buildVersion, thisVersion } from '../../upgrade/buildVersion.ts'
import { installForCosmovisor, runCosmovisor, type Supervised } from '../../upgrade/cosmovisor.ts'
import { KEYS } from '../devChain.ts'
import { getJson } from '../native/nativeChain.ts'
import { sendByCli } from '../native/runCli.ts'
import { runCoind } from '../runCoind.ts'
import { differences, type LocalNetwork, makeNetwork, type NetworkNode, QUICK, waitForHeight } from './localNetwork.ts'

/*
 * Four validators cross two upgrades: the first is run by `coind supervise` of this installation, the second by that from an archive, the third by
 * cosmovisor, the fourth by `coind supervise` and is off at the height of the first one. Blocks need three of them.
 */

const VOTING_SECONDS = 4
/** Blocks of 200 ms: later than the end of the vote, however slow the machine. */
const BLOCKS_TO_UPGRADE = 120
/** Blocks that are made after an upgrade. */
const BLOCKS_AFTER = 5
const PLATFORM = planPlatform(process.platform, process.arch)
const PATIENCE_MS = 240_000
/** Those of the genesis. */
const [WINDOW, MAX_MISSED] = [1_000, 900]

let network: LocalNetwork
let [first, second, third, fourth]: NetworkNode[] = []
let cosmovisor: Supervised
let v2: Buffer
let v3: Buffer
let proposals = 0

const urlOf = ({ rpcUrl }: NetworkNode) => ({ url: `${rpcUrl}/` })
const all = () => [first!, second!, third!, fourth!]

beforeAll(async () => {
  network = await makeNetwork({
    ...QUICK,
    validators: 4,
    commandOf: () => 'supervise',
    changeGenesis: ({ app_state: { gov, slashing } }) => {
      gov.params.voting_period = `${VOTING_SECONDS}s`
      gov.params.expedited_voting_period = `${VOTING_SECONDS - 1}s`
      // One delegator decides.
      gov.params.quorum = '0.000000000000001000'
      slashing.params.signed_blocks_window = String(WINDOW)
      slashing.params.min_signed_per_window = '0.100000000000000000'
    },
  })
  ;[first, second, third, fourth] = network.validators as NetworkNode[]
  const bundle = join(network.directory, 'bundle')
  v2 = await buildVersion('v2', bundle)
  v3 = await buildVersion('v3', bundle)
  const genesis = thisVersion()
  writeFileSync(`${putArchive(second!.home, 'genesis', genesis)}.sha256`, `${sha256Of(genesis)}  genesis.tar.gz\n`)
  installForCosmovisor(third!.home, 'genesis', genesis)
  cosmovisor = runCosmovisor(third!.home, { ...third!.variables, ...QUICK.environment })
  await Promise.all([
    // Both engines, and several threads for one block, have to come to the same state.
    first!.start({ EVM_SHADOW: 'true' }),
    second!.start({ EXECUTION_THREADS: '2' }),
    fourth!.start(),
  ])
  await waitForHeight(first!, 2, PATIENCE_MS)
  const validator = toBech32(hexToBytes('0x00000000000000000000000000000000000000aa'), 'coinvaloper')
  await sendByCli(urlOf(first!).url, KEYS[0]!, ['staking', 'delegate', validator, '100COIN'])
}, 2 * PATIENCE_MS)
afterAll(async () => {
  await cosmovisor?.stop()
  await network?.stop()
})

/** Has governance plan an upgrade; gives its height. */
async function plan(name: string, info: string): Promise<number> {
  const node = urlOf(first!)
  const { account } = await getJson(node, '/cosmos/auth/v1beta1/module_accounts/gov')
  const authority = account.base_account.address
  const height = (await first!.height()) + BLOCKS_TO_UPGRADE
  const upgrade = { '@type': '/cosmos.upgrade.v1beta1.MsgSoftwareUpgrade', authority }
  const messages = [{ ...upgrade, plan: { name, height: String(height), info } }]
  const file = join(network.directory, 'proposal.json')
  const content = { title: name, summary: name, deposit: '50COIN', expedited: true, messages }
  writeFileSync(file, JSON.stringify(content))
  await sendByCli(node.url, KEYS[0]!, ['gov', 'submit-proposal', file])
  await sendByCli(node.url, KEYS[0]!, ['gov', 'vote', String(++proposals), 'yes'])
  const current = async () => (await getJson(node, '/cosmos/upgrade/v1beta1/current_plan')).plan?.name
  await expect.poll(current, { timeout: 30_000, interval: 200 }).toBe(name)
  return height
}

/** Polls, since a node that changes its version does not answer. */
async function reaches(node: NetworkNode, height: number): Promise<void> {
  const reached = async () => (await node.height().catch(() => 0)) >= height
  await expect.poll(reached, { timeout: PATIENCE_MS, interval: 250, message: `${node.name} at ${height}` }).toBe(true)
}

const slashingOf = async (node: NetworkNode) => ({
  params: (await getJson(urlOf(node), '/cosmos/slashing/v1beta1/params')).params,
  version: (await getJson(urlOf(node), '/cosmos/upgrade/v1beta1/module_versions?module_name=slashing')).module_versions,
})

const FORMER_PARAMS = {
  signed_blocks_window: String(WINDOW),
  min_signed_per_window: '0.100000000000000000',
}

describe('four validators and an upgrade that changes the shape of parameters', { timeout: PATIENCE_MS }, () => {
  let height: number

  it('of whom three cross it and the fourth is off', async () => {
    expect(await slashingOf(first!)).toMatchObject({
      params: FORMER_PARAMS,
      version: [{ name: 'slashing', version: '4' }],
    })
    for (const { home } of [first!, second!, fourth!]) putArchive(home, 'v2', v2)
    installForCosmovisor(third!.home, 'upgrades/v2', v2)
    height = await plan('v2', planInfo(v2, PLATFORM))
    expect(await fourth!.kill('SIGTERM')).toBe(0)

    // Where the plan is known, the version of the upgrade executes nothing before its height.
    const early = spawnSync(join(third!.home, 'cosmovisor/upgrades/v2/bin/coind'), ['start'], {
      env: { PATH: process.env.PATH, ...fourth!.variables },
      encoding: 'utf8',
      timeout: 60_000,
    })
    expect(early).toMatchObject({ status: 65, stderr: expect.stringContaining('BINARY UPDATED BEFORE TRIGGER') })
    await Promise.all([first!, second!, third!].map((node) => reaches(node, height + BLOCKS_AFTER)))
    for (const node of [first!, second!, third!]) {
      const { params, version } = await slashingOf(node)
      expect(params, node.name).toMatchObject({ ...FORMER_PARAMS, max_missed_blocks: String(MAX_MISSED) })
      expect(version, node.name).toEqual([{ name: 'slashing', version: '5' }])
      const applied = await getJson(urlOf(node), '/cosmos/upgrade/v1beta1/applied_plan/v2')
      expect(applied, node.name).toEqual({ height: String(height) })
    }
    expect(await differences([first!, second!, third!])).toEqual([])
  })

  it('which the fourth crosses when it comes back', async () => {
    await fourth!.start()
    const head = await first!.height()
    await Promise.all(all().map((node) => reaches(node, head + 1)))
    expect((await slashingOf(fourth!)).version).toEqual([{ name: 'slashing', version: '5' }])
    expect(await differences(all())).toEqual([])
    expect(fourth!.running.output()).toContain('"the version is installed and is now the current one"')
  })

  it('after which a former version does not go on', async () => {
    expect(await fourth!.kill('SIGTERM')).toBe(0)
    const former = await runCoind(['start'], { environment: fourth!.variables })
    expect(former).toMatchObject({ code: 65, output: expect.stringContaining(`made upgrade "v2" at height ${height}`) })
    await fourth!.start()
    await reaches(fourth!, await first!.height())
  })

  it('or is alone with the archive of another version, and stops alone', async () => {
    for (const { home } of [first!, fourth!]) putArchive(home, 'v3', v3)
    putArchive(second!.home, 'v3', v2)
    installForCosmovisor(third!.home, 'upgrades/v3', v3)
    height = await plan('v3', planInfo(v3, PLATFORM))
    const others = [first!, third!, fourth!]
    await Promise.all(others.map((node) => reaches(node, height + BLOCKS_AFTER)))
    await expect.poll(() => second!.isRunning(), { timeout: PATIENCE_MS }).toBe(false)
    expect(second!.running.process.exitCode).toBe(78)
    const wrong = new RegExp(
      `checksum of .*v3.tar.gz is wrong: sha256 is ${sha256Of(v2)}, and it must be ${sha256Of(v3)}`,
    )
    expect(second!.running.output()).toMatch(wrong)
    // It says so again, and the others go on.
    const variables = { ...second!.variables, ...QUICK.environment }
    expect(await runCoind(['supervise'], { environment: variables })).toMatchObject({
      code: 78,
      output: expect.stringMatching(wrong),
    })
    await reaches(first!, (await first!.height()) + BLOCKS_AFTER)

    putArchive(second!.home, 'v3', v3)
    await second!.start({ EXECUTION_THREADS: '2' })
    const head = await first!.height()
    await Promise.all(all().map((node) => reaches(node, head + 1)))
    expect(await differences(all())).toEqual([])
  })
})
