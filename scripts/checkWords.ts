import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const MAX_SENTENCE_WORDS = 35
const MAX_PARAGRAPH_WORDS = 120

/** Constructions that make a reader read twice, each with what to write instead. */
const PATTERNS: readonly (readonly [RegExp, string])[] = [
  [/\bof (?:it|which|that|whose)\b/gi, 'a possessive or the noun itself'],
  [/\b(?:nobody|somebody|whoever|those who)\b/gi, 'the client, a peer, the caller, no caller'],
  [/\b(?:is|are|has|have) none\b/gi, '“there are no X”, invalid, absent, “is not an X”'],
  [/\bgives\b/gi, 'returns, yields'],
  [/\b(?:goes|go|going) on\b/gi, 'continues, resumes'],
  [/\bthe begin\b/gi, 'the start'],
  [/\bfor ever\b/gi, 'forever, permanently'],
  [/\bbeside\b/gi, 'next to, alongside'],
  [/\bkept\b/gi, 'cached (may be dropped), retained (stays)'],
  [/\b(?:comes?|came) upon\b/gi, 'encounters, hits'],
  [/\bin vain\b/gi, 'missed, wasted'],
  [/\blooks? whether\b/gi, 'check whether'],
  [/\bfor want of\b/gi, 'because it lacked'],
  [/\b(?:tells? of|(?:is|are) told of)\b/gi, 'reports, is notified of'],
  [/\bbut (?:for|when)\b/gi, 'except'],
  [
    /\b(?:once|twice|times|transactions|blocks|bytes|requests|MiB|KiB) an? (?:second|minute|hour|day|block|gas)\b/gi,
    '“per second”, “per block”, “per gas”',
  ],
  [/\bthe (?:former|present)\b/gi, 'previous, current'],
  [/(?<!error |exit |status )\bcodes\b/gi, 'bytecode, contract code (an error’s or exit code is “error codes”)'],
  [/\bin the place of\b/gi, 'instead of'],
]

export interface Finding {
  readonly line: number
  readonly message: string
}

interface Passage {
  /** of its first line, from 1 */
  readonly line: number
  readonly text: string
  /** false for a heading and a table's cell */
  readonly isParagraph: boolean
}

/**
 * Splits a Markdown page into passages: paragraphs, items of lists, headings and cells of tables,
 * without blocks of code.
 */
export function splitPassages(page: string): Passage[] {
  const passages: Passage[] = []
  let open: { line: number; lines: string[] } | undefined
  let isCode = false
  const close = () => {
    if (open !== undefined) passages.push({ line: open.line, text: open.lines.join(' '), isParagraph: true })
    open = undefined
  }
  page.split('\n').forEach((raw, index) => {
    const text = raw.trim()
    const line = index + 1
    if (/^(?:```|~~~)/.test(text)) {
      close()
      isCode = !isCode
    } else if (isCode) return
    else if (text === '' || /^<.*>$/.test(text)) close()
    else if (text.startsWith('|')) {
      close()
      if (/^[|: -]+$/.test(text)) return
      for (const cell of text.split(/(?<!\\)\|/)) {
        if (cell.trim() !== '') passages.push({ line, text: cell.trim(), isParagraph: false })
      }
    } else if (/^#+ /.test(text)) {
      close()
      passages.push({ line, text: text.replace(/^#+ /, ''), isParagraph: false })
    } else if (/^(?:[-*+]|\d+\.) /.test(text)) {
      close()
      open = { line, lines: [text.replace(/^(?:[-*+]|\d+\.) /, '')] }
    } else if (open === undefined) open = { line, lines: [text] }
    else open.lines.push(text)
  })
  close()
  return passages
}

/** Returns a passage as it is read: code is one word, a link is its text. */
function readable(text: string): string {
  return text
    .replace(/`[^`]*`/g, 'code')
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/\bhttps?:\/\/\S+/g, 'link')
}

/**
 * Splits a passage into sentences. A semicolon ends none; a full stop ends one before a capital, a
 * digit, a quote or code.
 */
export function splitSentences(text: string): string[] {
  return text
    .replace(/\b(e\.g|i\.e|vs|etc|No)\. /g, '$1.\u00a0')
    .split(/(?<=[.!?][)”"*_]*) +(?=[(“"*_`]*(?:[A-Z0-9]|code\b))/)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== '')
}

/** Counts words that have a letter or a digit, so without dashes and arrows. */
export function countWords(text: string): number {
  return text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length
}

export function checkPage(page: string): Finding[] {
  return splitPassages(page).flatMap(({ line, text, isParagraph }) => {
    const plain = readable(text)
    const findings: Finding[] = []
    const words = countWords(plain)
    if (isParagraph && words > MAX_PARAGRAPH_WORDS) {
      findings.push({ line, message: `a paragraph of ${words} words: ${plain.slice(0, 60)}…` })
    }
    for (const sentence of splitSentences(plain)) {
      const length = countWords(sentence)
      if (length > MAX_SENTENCE_WORDS) findings.push({ line, message: `a sentence of ${length} words: ${sentence}` })
    }
    for (const [pattern, instead] of PATTERNS) {
      for (const match of plain.matchAll(pattern)) {
        const around = plain.slice(Math.max(match.index - 30, 0), match.index + match[0].length + 20)
        findings.push({ line, message: `“${match[0]}” (write ${instead}): …${around}…` })
      }
    }
    return findings
  })
}

if (import.meta.main) {
  const root = resolve(import.meta.dirname, '..')
  const exempt = new Set(
    readFileSync(join(import.meta.dirname, 'wordsExempt.txt'), 'utf8')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#')),
  )
  const named = process.argv.slice(2)
  const files =
    named.length > 0
      ? named
      : ['README.md', ...globSync('docs/**/*.md', { cwd: root })]
          .map((file) => file.replaceAll('\\', '/'))
          .filter((file) => !exempt.has(file))
  let count = 0
  for (const file of files.toSorted()) {
    for (const { line, message } of checkPage(readFileSync(resolve(root, file), 'utf8'))) {
      console.log(`${file}:${line}: ${message}`)
      count += 1
    }
  }
  if (count > 0) process.exitCode = 1
}
