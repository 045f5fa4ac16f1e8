import { ProtobufError } from '../../primitives/protobuf.ts'
import type { AnyValue, MessageType } from '../../primitives/protoSchema.ts'
import type { NativeStore } from '../../state/world.ts'
import { areValidCoins, coinsText } from '../coin.ts'
import { distributionError } from '../distribution/errors.ts'
import type { MessageTable } from '../message.ts'
import { isSdkError, type Outcome, type SdkError, sdkError } from '../sdkError.ts'
import { MsgCancelUpgrade, MsgSoftwareUpgrade } from '../upgrade/messages.ts'
import { checkPlan } from '../upgrade/plan.ts'
import { GOV_AUTHORITY } from './authority.ts'
import { govError } from './errors.ts'
import { checkChange, MAX_CHANGES, messagesOfChanges, paramsError } from './parameterChange.ts'
import {
  CancelSoftwareUpgradeProposal,
  CommunityPoolSpendProposal,
  ParameterChangeProposal,
  SoftwareUpgradeProposal,
  TextProposal,
} from './typesV1beta1.ts'

/** The content of a v1beta1 proposal: its texts, and the equivalent current messages. */
interface LegacyContent {
  readonly title: string
  readonly description: string
  /** @param native for the current values of parameters that the content does not change */
  messages(native: Pick<NativeStore, 'get' | 'work'>, messages: MessageTable): Outcome<readonly AnyValue[]>
}

/** The longest texts (x/gov/types/v1beta1/content.go), bytes. */
const MAX_TITLE = 140
const MAX_DESCRIPTION = 10_000

type Reader = (value: Uint8Array) => { readonly content: LegacyContent; readonly problem: SdkError | undefined }

/** Reads the content of a v1beta1 proposal and validates it (ValidateBasic of each). */
export function readContent(content: AnyValue | undefined): Outcome<LegacyContent> {
  if (content === undefined) return govError('invalidContent', 'missing content')
  const read = CONTENTS.get(content.typeUrl)
  if (read === undefined) return sdkError('txDecode', `unable to resolve type URL ${content.typeUrl}`)
  try {
    const { content: legacy, problem } = read(content.value)
    return checkTexts(legacy) ?? problem ?? legacy
  } catch (error) {
    if (!(error instanceof ProtobufError)) throw error
    return sdkError('txDecode', `${content.typeUrl}: ${error.message}`)
  }
}

function reader<T extends { readonly title: string; readonly description: string }>(
  type: MessageType<T>,
  messages: (value: T, ...state: Parameters<LegacyContent['messages']>) => Outcome<readonly AnyValue[]>,
  check: (value: T) => SdkError | undefined = () => undefined,
): readonly [string, Reader] {
  return [
    type.typeUrl,
    (raw) => {
      const value = type.decode(raw)
      const { title, description } = value
      return {
        content: { title, description, messages: (...state) => messages(value, ...state) },
        problem: check(value),
      }
    },
  ]
}

const CONTENTS: ReadonlyMap<string, Reader> = new Map([
  reader(TextProposal, () => []),
  reader(
    ParameterChangeProposal,
    ({ changes }, native, messages) => messagesOfChanges(native, messages, changes),
    ({ changes }) => checkChanges(changes),
  ),
  reader(
    CommunityPoolSpendProposal,
    ({ recipient, amount }, _, messages) =>
      messageOf(messages, '/cosmos.distribution.v1beta1.MsgCommunityPoolSpend', { recipient, amount }),
    ({ recipient, amount }) => {
      if (!areValidCoins(amount)) {
        return distributionError('invalidProposalAmount', coinsText(amount))
      }
      if (recipient !== '') return undefined
      return distributionError('emptyProposalRecipient')
    },
  ),
  reader(
    SoftwareUpgradeProposal,
    ({ plan }, _, messages) => messageOf(messages, MsgSoftwareUpgrade.typeUrl, { plan }),
    ({ plan }) => checkPlan(plan),
  ),
  reader(CancelSoftwareUpgradeProposal, (_value, _, messages) => messageOf(messages, MsgCancelUpgrade.typeUrl, {})),
])

/** Returns a message of the table, with governance as its authority. */
function messageOf(
  messages: MessageTable,
  typeUrl: string,
  fields: Readonly<Record<string, unknown>>,
): Outcome<readonly AnyValue[]> {
  const type = messages.get(typeUrl)?.type
  if (type === undefined) return govError('noHandler', typeUrl)
  return [{ typeUrl, value: type.encode({ authority: GOV_AUTHORITY, ...fields }) }]
}

function checkTexts({ title, description }: LegacyContent): SdkError | undefined {
  if (title.trim() === '') return govError('invalidContent', 'proposal title cannot be blank')
  if (Buffer.byteLength(title) > MAX_TITLE) {
    return govError('invalidContent', `proposal title is longer than max length of ${MAX_TITLE}`)
  }
  if (description.trim() === '') return govError('invalidContent', 'proposal description cannot be blank')
  if (Buffer.byteLength(description) > MAX_DESCRIPTION) {
    return govError('invalidContent', `proposal description is longer than max length of ${MAX_DESCRIPTION}`)
  }
  return undefined
}

/**
 * Checks changes by ValidateChanges of x/params/types/proposal/proposal.go, with the errors of its
 * codespace; the SDK has no bounds.
 */
function checkChanges(
  changes: readonly { readonly subspace: string; readonly key: string; readonly value: string }[],
): SdkError | undefined {
  if (changes.length === 0) return paramsError('emptyChanges')
  if (changes.length > MAX_CHANGES) return paramsError('settingParameter', `more than ${MAX_CHANGES} changes`)
  for (const change of changes) {
    const problem = checkChange(change)
    if (problem !== undefined) return problem
  }
  return undefined
}

/** Returns the error of an invalid content. */
export function checkContent(content: AnyValue | undefined): SdkError | undefined {
  const read = readContent(content)
  return isSdkError(read) ? read : undefined
}
