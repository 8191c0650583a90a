// Names that no declaration in src/ may have. A name is a noun of Reverb, TF-Agents, Gymnasium, Arrow, databases or the platform; the name of a function is a
// verb. A participle or a private word describes how a value came to be instead of what it is, so readers must find out.

export const NO_NAMES = new Set(
  "asked breath breach drawn formed given gone handedOn heard held judged knock lent looked lookers mend picker said seen settled shown surveyor taken told vain".split(
    " ",
  ),
);
