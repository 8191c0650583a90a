// ../../tmp/fuzz.ts
import { readFileSync, writeSync } from "node:fs";

// src/error.ts
var ReplayError = class extends Error {
  constructor(code, message) {
    super(message);
    this.name = "ReplayError";
    this.code = code;
  }
};
function show(value) {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "function") return "a function";
  if (ArrayBuffer.isView(value)) return `${kindOf(value)}(${value.length})`;
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === "object" && value !== null) return `an object with keys ${Object.keys(value).slice(0, 8).join(", ") || "none"}`;
  return String(value);
}
function kindOf(value) {
  return typeof value === "object" ? value?.[Symbol.toStringTag] : void 0;
}
function mustBe(kind, subject, rule, value) {
  const message = `${subject} must be ${rule}, got ${show(value)}`;
  return typeof kind === "string" ? new ReplayError(kind, message) : new kind(message);
}
function outOfRange(subject, value, least, most, fraction) {
  const bounds = least < -MOST ? "" : most < MOST ? ` in ${least} \u2026 ${most}` : ` >= ${least}`;
  const wrongKind = typeof value !== "number" || !fraction && value % 1;
  return mustBe(wrongKind ? TypeError : RangeError, subject, (fraction ? "a finite number" : "an integer") + bounds, value);
}
var MOST = Number.MAX_SAFE_INTEGER;
function integer(subject, value, least, most = MOST) {
  if (typeof value === "number" && value >= least && value <= most && Number.isInteger(value)) return value;
  throw outOfRange(subject, value, least, most, false);
}
function finite(subject, value, least = -Number.MAX_VALUE, most = Number.MAX_VALUE) {
  if (typeof value === "number" && value >= least && value <= most) return value;
  throw outOfRange(subject, value, least, most, true);
}
function flag(subject, value) {
  if (typeof value === "boolean") return Number(value);
  throw mustBe(TypeError, subject, "a boolean", value);
}
function oneFrom(words) {
  return `one of ${words.map(show).join(", ")}`;
}
function oneOf(subject, words, word) {
  if (Object.hasOwn(words, word)) return words[word];
  throw mustBe(RangeError, subject, oneFrom(Object.keys(words)), word);
}
var KNOWN = /* @__PURE__ */ new Map();
function onlyKeys(subject, value, keys) {
  if (typeof value !== "object" || value === null) throw mustBe(TypeError, subject, `an object of ${keys}`, value);
  const known = KNOWN.get(keys) ?? new Set(keys.split(", "));
  KNOWN.set(keys, known);
  for (const key in value) if (!known.has(key)) throw new TypeError(`${subject} has no option ${show(key)}; it has ${keys}`);
  return value;
}

// src/rate-limiter.ts
function minSize(minSize2 = 1) {
  integer("minSize", minSize2, 1);
  return { samplesPerInsert: 1, minSize: minSize2, minDiff: -Number.MAX_VALUE, maxDiff: Number.MAX_VALUE };
}
function isRateLimiter(value) {
  const { samplesPerInsert, minSize: minSize2, minDiff, maxDiff } = value ?? {};
  return minSize2 >= 1 && [samplesPerInsert, minSize2, minDiff, maxDiff].every(Number.isFinite);
}

// dist/core-bytes.js
var core_bytes_default = 'm\f\0lmmml\xEBoI\rom\rol\rll\rnm\rlm\rim\rnl\rnm\rkl\rhm\rol\rnl\rkm\rkl\rll\rol\rnl\ril\rml\rom\rll\rnm\rol\rol\rol\rim\rim\rnl\ril\rkm\rhl\rjm\rjm\rjl\rjl\rdmniiiiiii\x7F~mmmmmmmmmmmmmmmmccoooooooooooyxjjjjjnnnnnnnnnn{zgggbblllllllllllllutwhhhhhhhfffv}}kkkkkkkddddq||paaasrM```eeeeeLONhnlmlkklm,ofj\xA9h]f\f\b\f2\fmHg\f\b\f2\v\b\bmgg\f\b\f2mng\f\b\f2\b	mj~\b2\f\b	2mg	\f2\bmsf	\f2\0mRd	\f2mBf	\f2\bmQf\n\f\b2\b\f\vm9f\n\f\b2m\n`\n\f\b2\b\bm>f\f\b2\b\fml`\f\b2\bmPg\f\b2\b\0m:a\f\b2	\b\b\bm\ra\f\b2\b\bmta\f\b2	\f\bmf,/$2;(?>$"#nmf	\f22\bmg2\bmpd2mCd2\b\f\vmd2\x1B\bmOd2\bmka\f\b2\f\0\bm\0a\f\b2\b\bmm`\f\b2\b\nm a\b\f\x002\b\fmoy\b\f\x002\b	\b2\bmv`\b\f\x002\b\nmqa\b\f\x002\fm[f\f\b2\bm\v}\f\b2\f2\bmW}\f\b2\f2\f\0\bmTb\f\b2\b\bmJg\f\b2ma\f\b2\0mg\f\b2\b\b	m#f	\f2	m\b`\b2\f\b	m\'a\b2\bm4\x7F\b2\b\f\b2\b\0mg\b2\b	mdf\b2m\x07f\b2\bm`\b2\b\f\0mSk\0\b\0omg\xE6\xA7lWllMm,m[o	n-MmEoi-MmMmEomMmEoOl,i\x07Eoa[oMmMl}\x7FalffMm}hfll,lLln-MlMmEoM i-MmEoiMl,n\x07Dnm/\xED\xED\xED\xED\xED\xED\xED\x95\x92m9i-MmMl}xfMl,l\x07LlalffMm)mmmmmmmmTn\xC5lMm)mmmmmmmmTn\xDDlMm/mZn\x95lMm/mZn\xEDoMm}hflnMmEomLon-MmEoIi-MmEouMmEoM,o\x07EomLnMmMmEoM,l\x07OlMmEoq"iMlMmEoqhMlf[oMMmMmEoI,l[oIMoMn}|alffMm,m[oif\xCCloll,m,\xBF\xCD\xA4\xF7h[om,i,o[om,u,n[om,qMm[om,M,m[om,E,m,\xBDm\x91fm)mmmmmm\x9DRLl,lLmn-Mm,a i-Mm,iOo)mmmmmm\x9DRMm\xD5)mmmmmmm-\xCF)mmmmmm\x9DR\xCD\xCETn\xFDoMo)mmmmmm\x9DRMlMm,l\x07\xD5\xCFOl\xCETn\xF5oMm,l\x07Lmalfff\x1BllMmEoiiMmEoeh,mfOl(i-Mm,m[oyfMmMl(MlMmEo}+i,mhMl,\x92j,aMl,g\x1B,a\x07Eoef[oiMmEoii-MmMl,\x92j,aMl,g\x1B,a\x07Eoi[oefMmMl[omf\xD3llon-MmEo\xD1liMmEo\xD5lLlMm,\x95l\x07OoFnM)\x92\x92\x92\x92\x92\x92\x82\fi,lhMo)mmmmmm\x9DRMl};fh,mfi-MmMmEomMmEo\xADlOo,i\x07OlEoa[o\xADlMmMmEo\xD1l,l[o\xD1lMl,m[oaMm,-Mm,-EoaMlEoi,\xED\xED\xED}i,lhMlEoi,\x92\x92\x92jf[oaMmMoMmEoiMo,n\x07Fnm\xF4}Aalfff\xDDolnMmEoe,a\x07Lln-MoMmEoM$i-Mm,\x8Dm\x07Mo,h\x07OnEom,l+i-MlMnEoe\x07LlfMnEomi-MmMmEoI,l\x07[oIfMnEom,o+i-MmMmEoE,l\x07[oEfMo,l\x07LoalffMm,\xEDe,l,\x9D\x92nMlOlMl,l vOlMl,\xEDe"v[omMmMmEom,a,b\x07,[oiMmEoiMmEomMmEoe\x07Ll,mLnn-MnMmEoM$i-Mm,\x8Dm\x07Mn,h\x07OoEom,l+i-MoMl[o}MoMoEoe[oyMlMmEomMoEoe\x07LlhMoMoEo}MmEoi\x07[o}MoMmEoe[oyfMn,l\x07LnalffMmMl[oafum,uEom,MEom\xD5)mmmmmm\xDD-\xCFf\vllMmMlTnmMm)\x92\x92\x92\x92\x92\x92\xA2)mmmmmm\x9DRMl\xCE}ZOo)mmmmmmmmMl)mmmmmmmmvTneMmMo)\x92\x92\x92\x92\x92\x92\x82\xC9)\x92\x92\x92\x92\x92\x92\x82Ml)mmmmmmmm	vTn}fwmMmEoeMlMmEoa\x07MmEo},m*}bfHmMm(i-bfMl}ILl,MMl,MEom\x07[omMm,a\x1BMl}`fJmMlMlEoq,l\x07[oqMmMlEoq[oeMm,m[oaMm,m[o}fCllMmMl}.OoEoi(i-MoMl[omMmMmEoe,l\x07[oefMmMo[oufCllMm,a,rMl\nOo,oEoE[omMm,aMl[oiMo,oMm[oEfWllMmMmEo}Oo,l\x07[o}MmEomMo,o\x07Ml[omMmEoiMl,o\x07Mo[omMmMo}(wf!llMmEoii-MmEoiOo,g\x1B,aMo,\x92j,a\x07OoMoEoi,\xED\xED\xED\xED[oifMm,l[o}Mm,m[oaMl(i-Mm}off\rllMmEoiMl,o\x07EomLlMmMmEo},lOo[o}MlMo+i-bfMmEomMl,o\x07MmEomMo,o\x07EomOo[omMmEoiMo,o\x07Ml[omMmMo}{floo-Ml,\x92j,aMl,g\x1B,a\x07OnEom,lLoMnMo[omMo`mMmEoEi-MmMl}yfMm,-OmMmEoa,l\x07[oaMlMmEoy,l\x07*i-MmMl}~fMmMl[oyffllMmMmEomMl,i\x07OoEomMoEoi,\x92\x92\x92j}^o-MmEomMl,i\x07OoEoeMmEoq"i-MmMmEoA,l\x07[oAalfMo,m[omMmEoIi-MmEomMmEoE,i\x07Ml[omhMmMl[oIfMmMl[oEffllMmEomi-MmEoii-MmEo}Oo,g\x1B,aMo,\x92j,a\x07Ml[oiMmEo}Oo,g\x1B,aMo,\x92j,a\x07MmEoy[oehMmMmEoy[oiMmMl[oefhMmMl[omfMmMl[o}flin-MiMmEoM$i-Mm,\x8Dm\x07Mi,h\x07OoEom,o+i-,mLnn-MnMoEoa$i-MoEo}Ml,g\x1B,a\x07MoEoyMl,\x92j\x07Mn,o\x07EomOhi-MoEoqMh}|fMn,l\x07LnalfffMi,l\x07Lialfff\xB0lllMmEomMl,i\x07LoMm,]\x07Ml}uMmEoQMmEoY*i-Mm,U\x07Ml}ufMmMmEo\xD5l,l[o\xD5lMmEo\xD5li,lhMmEo\xD1lf(i-Mm/mZn\xA5lMm,m[o\xBDlfMmMmFn\xF5lMoEoi,\x92\x92\x92j\xD5\xCCTn\xF5lMmMoEomMoEoi,\xED\xED\xED}i,lhMoEoi,\x92\x92\x92jf,m}=MmEoiMl,n\x07)mmmmmm\x9DTnmMmEo	i-MoMmEo[oaMmMl[ohMmMl}\x7Fff\x90lliMmMmEoiMl,o\x07EomOl}((i-MmOoEomMl,o\x07EomLin-o-Ml,o,l\x07OmMoEo}"`mMm,i\x07OnMoEo}OhMnMh$vLhMm,l\x07Lnn-MnMh$i-MnMmMoMoEomMn,o\x07EomMoEomMm,o\x07Eom}1vLmMn,l\x07LnalffMoMoEomMm,o\x07EomOnMi}1(`mMoEomMl,o\x07Mn[omMoEoiMn,o\x07Ml[omMmLlalffMoEomMl,o\x07Mi[omMoEoiMi,o\x07Ml[omff\xEAolioMm,-OoEoqOnEomMl*i-MoMoMl}.On[oqfMnMnEoi,lOl[oi,mMl`mwMoMoEoe,l[oeMoMo,y\x07Ol[ouMoMl[oqMoEoi,lOhMnMoEomOi,n\x1BOn,l\x07Lln-MiMl,n\x07Eoii-MlMiMl,n\x07Eom,\xDC\x9E\xB0\x9CMoEo}\x1BMhMlMnMh"i-MiMn,n\x07MiMl,n\x07DnmZnmMiMl,n\x07/mZnmMlLnfMl,l\x07MhLlalff,lfi-MmMmFn\xDDl)mmmmmm\x9DR\xCDTn\xDDlff\x85olno-o-o-o-MmEom,lcimmlonfMmEoiOm,e\x07Ml,n\x07EoiLoMlMmEom+i-MmMo,mMlMo*v[omfMm,e\x07Mm,e\x07Ml,n\x07EomOl,n\x07Mo[oiMm,e\x07Mo,n\x07Ml[ombfMmEoiOmEomMl,o\x07EomLoMmEoeMmEo},o\x07EomLnMmMmEo},l\x07OiMmEoa"iMiMmEoahMif[o}MmMmEoy,l[oyMmEoii-MmMmEoi,l[oifMlMn*i-MmEoeMo,o\x07Mn[omMmEomMn,o\x07Mo[omMmMmEoiOlMoMmEo}"iMoMmEo}hMoMmEoa\x07MmEo}f,l\x07OmMmMl$v[oifbfMmEoiMl)mmmmmmmm}GbfMmEoiMl}}f[llMmEo\xF9liMmEomMmEo\xF9lOl,i\x07Eoe\xD5MmFn}\xCFMl\xD5\xCDh)mmmmmmmmff	liMmDnmOnMmDn}\xE8LoMmMnMmDneOlMmDnu\xE8Oi\xE8ZnmMmMlMo\xE8ZneMmMoMl/|\xEB\xE8Zn}MmMi/@\xE4ZnuMl/h/j\xE4/d/f\xE5\xD7)mmmmmm\xCDQ\xCFfjmMmEoafjmMmEoIffmMm,h,\x8Dm\x07f`mMm}L,i,\xBDm\x07f`mMm,k+Mm,h+f`mMm,o+Mm,l+f`mMm,n,b\x07,f}mMmEoyMm,-Eoaf}mMm,l\x07,l\x1B,n,E\x07f\x7FmMm,l,a\x1B,l\x07,lMmvf\x83oljo,rMm}IOkOn\nLjn-Mj,y$i-,mLlMj,oEoELo,mLin-Mi,e$,mMovi-Mo,aEoiOhMn"i-Mli-Ml,aMo,aEom[omhMj,oMo,aEom[oEfMnMh$i-MoMn\x07MhMn}`fMoahfMoOl,aEomLoMi,l\x07LialffMj,l\x07Ljalff,mfOli-Ml,a,mMk,a\x91fm,M,MEomMk[omMl,abf,qEomMk,uEomOi\x07$i,mhRmOnMiMk\x07,b\x07,i\x1BOh"i,lhMhMn,}Mn,n\x1BOlMl,}$v\x07OlMlMh$vOo,qEom,b\x07,i\x1BOlMlMo&vMn-m,m#i,lhMhMn-m,m#fff(i-,,mMm\xD5}5w,mbf,uMiMk\x07[omMi,af_mMmMm/s\xE5\xE8/\xD4\xA6\xFE\x8A\xBC\x80\xFC\xC1\xD2Om/v\xE5Mm\xE8/\x86\xCE\xA9\xF4\xDC\xDA\xFF\x85\xF9Om/r\xE5Mm\xE8f[mMm)mmmmmmmmTn\xEDlMm)\x92\x92\x92\x92\x92\x92\x82Tn\xE5lMmMm,]\x07Ml}EMmMm,U\x07Mo}EfPmMlEom,i*i-bfMlEoiOlMo}eMmMmFn\xEDlMlFne\xC8Tn\xEDlMmMmFn\xE5lMlFn}\xC9Tn\xE5lf5lnMl(i-bfMmEoYLiMmEoQOhEomLnn-Mli-MiMh,e\x07Mn,n\x07EomOnMoMiMmEoiMn,n\x07Fnm}U\xCF}GMl,lLlalfff\xFCloolMmEoMMl,n\x07MoTnmMl,o\x1BLn,lLln-MlMmEou i-Mm,M\x07Ml,o\x07EomMn,n\x07MmMl,o\x07EoqMn,h\x07Oi\x90mimMi\x90mi}\x90\x9DlOh\x90LmMh\x90Ll\xCDTnmMmEoqi-MmMlMn}YfMn,o\x1BLnMl,l\x07Llalfff\xF9oloo-o-o-o-MmEom,lcimmlonfMmEoiOmEomOni-Mm,e\x07Mm,e\x07Mn,n\x07EomOi,n\x07Ml[oiMm,e\x07Ml,n\x07Mi[omMm,e\x07Ml,n\x07Mn[oiMm,e\x07Mn,n\x07Ml[omhMmMl[omMm,e\x07Ml,n\x07Ml[oiMm,e\x07Ml,n\x07Ml[omfbfMmEoiOmEomMl,o\x07MmEo}MmEoy\x07OnMmEoa"i-MnMmEoaLnfMmEoeMn,o\x07Ml[omMmMmEoy,l\x07[oyMn[ombfMmEoiMlMmEoiMo}U}GbfMmEoiMl}cf\x99oloMmMmEomMl,i\x07OnEomMnEoi,\xED\xED\xED}i,lhMnEoi,\x92\x92\x92jf,l}=MmEoU,l+iMmEo\xD5lMmEo+h,mfi-MmMmEoQEom}xfMmMmDn\x95l/lZn\x95lMmMmEo\xD5l,l\x07[o\xD5lMmMmFn\xF5lMnEoi,\x92\x92\x92j\xD5\xCDTn\xF5lMnEoi,\x92\x92\x92jLiMmMmDn\xA5l/lMnEoi,w\x1B\xC0\xEB\xE9Zn\xA5lMiMmEo\xBDl&i-MmMi[o\xBDlfMmEoiMl,n\x07Mo\xF4TnmMmEoei-MmMmFn\xCDl)mmmmmm\x9DR\xCDTn\xCDlMmEoeMl,n\x07MmFn\xCDlTnmfMm,]\x07MlMo}FMmEoQMmEoY*i-Mm,U\x07MlMo}Ffn-MmEo\xD5lMmEo&i,lhMmFn\xF5lMmFn	fi-MmMm,U\x07Mm,\xB5l\x07MmEo\xD5l}2}xalffftmMli-MmMlMo}XhMm,mMo\x91fmffMmMm,mMo,h,\x8Dm\x07\x91fmMmMl[oeMmMo[oMf$mMm,m,\xBDm\x91fmMmMl}L[oAMmMm,\xBDm\x07MmEoA,i\x07[o]MmMmEo]Mo,o\x07[oYMmMmEoYMo,o\x07[oUf)mMl,\xBDm\x07MlEoA,n\x07Mo,o\x07EomLlMmEoiMmEomMl,i\x07EoaMmEo"h,mfi-MmMl}xff\bmMmFn\xCDoMmEo\xD5l\xD5	i-Ml)mmmmmm\x9DRMmEo\xD5l\xD5MmFn\xCDo}!hMl)mmmmmmm-MmDn\x95l\xD7MmFn\xE5o\xCFMmDn\xEDo\xD7\xCCMo\xD5\xCC)mmmmmm\x9D\xD2\xCDMmFn\xFDo}!ff\x07llMmEoeMlMmEo}\x07OlMmEoa"iMlMmEoahMlf,o\x07OlEomLnMlMmEoeMoMmEo}\x07OlMmEoa"iMlMmEoahMlf,o\x07OmEom[omMmMn[omf\xE3lloMmEo\rLin-Ml,\x92j,aMl,g\x1B,a\x07OnEoi,\x92\x92\x92\x92nLmMnMnEom,lOn[omMn(i-MiEoEi-MiMl}yfMi,-OnMnEoa,l\x07[oaMlMnEoy,l\x07*i-MnMl}~fMnMl[oyfMo,lOoi-MmLlalfff\xC9lloMmEoqMm,M\x07Ml,o\x07Eom\x07Mo,n\x07Ml,l+iMmEoMhMmEoqMmMl,o\x07Eoq\x07fMo,h\x07Lm)mmmmmm\x9DLn,mLln-Ml,M$i-MmMl\x07FnmOi)mmmmmm\xEDl\vMnMi	i-MiLnfMl,e\x07Llalff)mmmmmmmmMnMn)mmmmmm\x9D\fvTnmf\xDElllo-Mo,\xEDo"i-MmMlMo\x91gmmalfMoLnn-Mn,M"i-MmMl\x90mim\x90fimMmMl\x90mi}\x90fi}Mm,M\x07LmMl,M\x07LlMn,MLnalffn-Mn,e"i-MmMlDnmZnmMm,e\x07LmMl,e\x07LlMn,eLnalffn-Mni-MmOo,l\x07LmMoMlOo,l\x07LlMo@mmWmmMn,lLnalffff\xB5lloMmEom,\x8Dm\x07Mo,h\x07OoEo}MmEoiOm,g\x1B,a\x07MoEoyMm,\x92j\x07OnMoEo}MlEoiOm,g\x1B,a\x07MoEoyMm,\x92j\x07MoEom,o+OiiMoEoa,ohMoEoef}X,mLmn-MiiMmMoEoa$h,mfi-MnMm,o\x07EomOli-MoEoqwMl,\x92j,aMl,g\x1B,a\x07Ml,\x92j,aMl,g\x1B,a\x07Eom,l\x07[omfMm,l\x07Lmalfff\x8Fnoono)mmmmmm\x9DMlMm)mmmmmm}mi/\'LhMm)mmmmmm=.\xCFhMmf\xD0Ok/\xA0\x9A\x91\xDE\x8B\xFE\xC5\x9ER/Y\xEALiMkMi/Y\xEB\xD2Om)mmmmmm\x9D\xD2\xCDMm)mmmmmm\x9DR\xCD\xCEOlMl\xCFOmMm\xCFOoMo\xCFLnMiMh\xD4MlMlMm,\xCDoFnmMm,\xDDoFnm\xCF\xCDMo,\xADoFnmMm,\xBDoFnm\xCF\xCD\xCF\xCDMn,\x8DoFnmMm,\x9DoFnm\xCF\xCDMo,\xEDnFnmMm,\xFDnFnm\xCF\xCD\xCF\xCDMn,\xCDnFnmMm,\xDDnFnm\xCF\xCD\xCF\xCD\xCF\xCD\xCF\xCF\xCD)\x93\xEFF\b*xj-\xCF\xCD\xCFOm)mmmmmm\xFD-	`mw)mmmmmmmmMm)mmmmm\x8D\xFD\xAD`mwMmMm\xF3On\xCC)\x82T\x97\x93/C\x8BR\xCFOmMm\xCFOlMl\xCFLoMm)mmmmmm\x9DR\xCDMl,\xC5oFnmMm,\xD5oFnm\xCF\xCD\xCF\xCDMo,\xA5oFnmMm,\xB5oFnm\xCF\xCDMl,\x85oFnmMm,\x95oFnm\xCF\xCD\xCF\xCDMo,\xE5nFnmMm,\xF5nFnm\xCF\xCDMl,\xC5nFnmMm,\xD5nFnm\xCF\xCD\xCF\xCDMo,\xA5nFnmMm,\xB5nFnm\xCF\xCD\xCF\xCD\xCF\xCD\xCF\xCDMn\x91k/l\xEAOi/\x92j/Y\xEB\xD2\xCFMn\x91kMi/\x92j/Y\xEB\xD2\xCFff7mMl)mmmmmmmm\fi-)lmmmmmmmbfMmFnm)mmmmmm\x9DRi-MlMmFnm}ZLlf)lmmmmmmmMl)\x92\x92\x92\x92\x92\x92\xA2\xC9Ml)mmmmmm\xEDlvf\x7FmMm,\x95l\x07MlMmEo\xD5l}8f_llMmEo\xD5lLoMm,\x95l\x07OmFnM)\x92\x92\x92\x92\x92\x92\x82\fi,lhMmMlMo};f,m*follMl\x91jOn\xD7Mli-,mbfMn/lMmXou\xEB/l\xEE\xCAOoiMoMmEoM&h,lfi-,mbfMmEomMo,i\x07XoeMnMmXou\xE5?i-,mbfMo,mMmEoiMo,n\x07Fnm)mmmmmm\x9Dvf`mMmMl,n\x07Fnmf\xB9lmo-o-o-o-o-o-o-o-o-o-o-o-o-MlcamlonihkjedgfafMmEo\xD5l\xD5bfMmFn\xF5lbfMmEo\xD1l\xD5bfMmDn\x95l\xD7bfMmDn\xEDo\xD7bfMmDn\x95lMmXo\xD5l\xD7bfMmFn\xC5lbfMm,-Eoe\xD5bfMmFn\xDDlbfMmEoA\xD5bfMmDn\xA5l/l;i)mmmmmm=-hMmDn\xA5l=i)mmmmmmmmhMmDn\xA5l\xD7ffbfMmEo\xBDl\xD5bf)mmmmmm\x95f}mMmEoeMlMmEoa\x07f|mMm,\xBDm\x07MlMmEoA\x07fDmMm,\x95l\x07)mmmmmm\x9DRMmEo\xD5l}8i-,lbfMmMl,m}\\,mfQmMmEouMl,l i-,mbfMl,lMmEomMmEo]Ml,lMmEom,o\x07Eom,a\x1B,gf.llMmEo}LoMmMlMmEoy\x07[oyMmMmEomMo,\x92jMl\x07+iMmMmEoy,l\x07},hMlMo\x07f[o}Mof2loMmEomMl,\xDC\x9E\xB0\x9CMmEo}\x1B,n\x07LoMmEomMmEoi,n\x07Lnn-MoEoiiMoEomMl*h,mfi-MnMo,e\x07Oo+i-MmEomLofalffMof\xEDllin-MmDnmOiMmDn}\xE8LnMmMiMmDneOoMmDnu\xE8Oh\xE8ZnmMmMoMn\xE8ZneMmMnMo/|\xEB\xE8Zn}MmMh/@\xE4ZnuMl\xC0Mo/h/j\xE4/d/M\xE5Oo\xCAMl$iMo\xCA,mMlMl$h,mf`mfMo/M\xE5\xCAf\xF9lliMlLiMmEomMl,o\x07EomLon-Mli-MmMoMmEomMl,l,o\x1BOh,o\x07EomOn}1i-MmEomMl,o\x07Mn[omMmEoiMn,o\x07Ml[omMhLlaofffMlMi+i-,mbfMmEomMl,o\x07Mo[omMmEoiMo,o\x07Ml[om,lf\xDAlln,\xEDoMmEoiOoMo,\xEDo vLon-Mo,lOoMl,l$`mfMo,n}HOl(i-,mbfMmMm,y\x07On[ouMmMn[oqMmEomLnMmEoiLiMmMl[omMmMo[oiMmMo\n,l\x07[o},mLln-MlMi$i-MnMl,n\x07OoEoii-MmMoEom}.MoDnmZnmfMl,l\x07LlalffMnMi,n}g,lf\xCCllhMm,-EoaMl,}\x07"i,mhMmEo}fi-MmMlMmEomMmEo},\x92jOmMmMl&v}/bfMm,-EomLkMm,-OmEomLoMmMmEoaMlMmEoiiMmEoihMmEoyfOi,l\x07MoOhMlMh$vOl[oaMmMlMo\x07[omMiMmEom$i-Mm}ifMkf\xCDllnMm,Mi-,mbfo-o-o-o-Mm,b,lcimmlonfMl,n,}\x07bfMl,oMl,o\x07,q\x07bfMm,},m*LnMl,n,l\x07OiLl,eLmn-Mm,i&i-MlOm,o\x1B,n\x07,OlMo\x07LoalffMiMo,lMoMnv\x07,n,\x9Dm\x07bfMl,oMl,o\x07,I\x07f\xF6nlhn-Mm,-EoaMmEou\x07MmEoyMl$i-o,mMmEoYMmEoA+iMmEoAiMmEoA,lh,\xEDefOn,o}HOoiMoMmEo]MmEoY,o\x91gmmMmEo]MmEoA,o}gMmMo[o]MmMn[oA,lh,mfh,lf(`mw,mMmEoa}HOo(`mwMmEo]MmEoY,o\x07Mo[omMmMmEoY,l\x07[oYMmMmEouMmEom\x07[ouMmEo}(i-MmMmMmEoy,l\x07},[o}f,lf(i-,mbfalffMmEoE(i-,lbfn-MiMmEoM$i-Mm,\x8Dm\x07Mi,h\x07OoEom,o+iMoEoqMoEoqLk,mLo,mLnn-MoMmEoM$i-Mm,\x8Dm\x07Mo,h\x07OhEom,o+iMkMhEoq+h,mfi-MnMhEoa\x07LnfMo,l\x07LoalffMlMn}$h,lf(i-,mbfMi,l\x07Lialff,lf\xCFdldMmEoiLgMmOdEoeMmEoa,m\x07OoEo}i,mhMoEoaf,l\x07Len-MhMg$i-Md,u\x07Mh,u\x07OmEomEo\xFDliMoEo}h,lfi,mhMoEoeMmEom,-EouEom+f(i-MeMmEoi$i,lhMmEoe,l+i,mhMeMmEoiMmEoeffi,mhMmEomMdMhMe}3MmEoi}0fOmi-MmbffMh,l\x07LhalffoMoEomOi,-EomiMiEoEh,lfi-,mMi,l}$(`lwfMi,-Eoa,|"i,mhMiEo}fiMi,l}/hMi,-OmEomLnMmMmEoa,l[oaMnMmEoy*iMnMmEoi*h,mfi-MmMn,l\x07[omhMm}ifMnfOk,g\x1B,aMk,\x92j,a\x07/lZnmMiEoiMk,g\x1B,a\x07MiEoeMk,\x92j\x07LnMlLmo-MiEoeOj,\xEDo"i-MnMmMj\x91gmmalfn-Mj,M"i-MnMm\x90mim\x90fimMnMm\x90mi}\x90fi}Mn,M\x07LnMm,M\x07LmMj,MLjalffn-Mj,e"i-MnMmDnmZnmMn,e\x07LnMm,e\x07LmMj,eLjalffn-Mji-MnOh,l\x07LnMhMmOh,l\x07LmMh@mmWmmMj,lLjalfff,mLmn-MiEoIiMmMiEoM$h,mfi-MoMiMkMmMlMi,\x8Dm\x07Mm,h\x07Eou\x07}	Mm,l\x07LmalffMoEo}i-MoMi}ffMoMoEoa,l\x07[oaMk,\x92j,aMk,g\x1B,a\x07MoEoe[oeMoEoiLmMoMk[oiMmi-Mm,\x92j,aMm,g\x1B,a\x07OmMkMmEoi[oifMoEoIMoEoq+i-o-MoEouMoEoM,o\x07OlEomLmMlMk[omMoMoEoM,l\x07OlMoEoq"iMlMoEoqhMlf[oMMm,\x92j,aMm,g\x1B,a\x07OnEom,lLlMnMl[omMl`mMiEoEi-MiMm}yfMi,-OlMlEoa,l\x07[oaMmMlEoy,l\x07*i-MlMm}~fMlMm[oyfhMoEouMoEoMMoEoI\x07OmMoEoq"iMmMoEoqhMmf,o\x07Mk[omMoMoEoI,l\x07[oIfMkf(i-,bf,mLn,mLhn-MhMg$i-MeMd,u\x07Mh,u\x07OmEoi$i,lhMmEoe,l+i,mhMeMmEoiMmEoeff(i-MnMn,l\x07MoMmEomMoEoIMmEoiOl,l&iMoEouMoEoMMoEoIMl\x07OlMoEoq"iMlMoEoqhMlf,o\x07Eomh,mfMmEoiMmEoaMmFn}}vLnfMh,l\x07LhalffMnf}mMm,l\x07\xC0/M/uMlvfzmMmMlTnmMmMoTneMmMnTn}f\xDDoooln-MkMlEoE$i-Ml,\xBDm\x07MlEoA,g\x07Mk,o\x07Eom\xD5MlEoAMl,\xBDm\x07\x07Mk,n\x07Fnm\xCFMo\xF7}ZLhMl,\xBDm\x07MlEoA,n\x07Mk,n\x07MhTnmMiMh\xC8LiMk,l\x07LkalffMniMlEoEh,mf(i-bfMn,o+iMmEo],i+h,mfi-MmEoYOnEoqMn,M\x07MnEou,o\x07Eom\x07FnmOh)mmmmmmmmi-MmEo\xD5l\xD5Mh\xCFMn,M\x07MnEou,o\x07EomFnm\xCEMo\xF7}ZMi\xC8Liff,mLmn-MmMlEoE$i-Ml,\xBDm\x07MlEoA,n\x07Mm,n\x07OnMnFnmMi\xCETnmMm,l\x07Lmalfff8llMm,\xB5l\x07LmMl\xC0Mo\xC0/M\xEB\xE9}KMn\xC0/\xE8}K\xE8Li,mLln-Ml,M$i-MmMl\x07Mi/\x86\xEA\xBB\xE8\x85\xA5\xCC\x89\x8CmOi}KZnmMl,e\x07Llalfffolln-MoMn i-Mm,M\x07Ml,o\x07EomMo,n\x07MmMl,o\x07EoqMo,h\x07Oi\x90mimMi\x90mi}\x90\x9DlOh\x90LmMh\x90Ll\xCDTnmMmEoqi-MmMlMo}YfMo,l\x07Loalfff\xE3lloMmEo\rwn-Moi-MiMl,\x92j,aMl,g\x1B,a\x07EoeOi*i-Mni-MiMm,-OhEouEom*i-MhMi}afMhEouMhEouEoi,l\x07[oihMmMi}zffMl,\x92j,aMl,g\x1B,a\x07Eoi,\x92\x92\x92\x92nLlMo,lLoalfff\xEEoojlMo,oLj,lLin-MiMmEou i-MmMi,o\x07EoqLeMm,M\x07Mi,o\x07EomLdo-MoMm,M\x07Mi,o\x07EomMmMi,o\x07Eoq,h\x1B"i-MmMi,mMm,M\x07Mi,o\x07EomMmMi,o\x07Eoq,h\x1B,l}"alf,mLhn-MhMj$i-MnMh\x07MlMh\x07Eom,o\x1BOk[omMdMk,n\x07MeMk,h\x07Og\x90mimMg\x90mi}\x90\x9DlOf\x90LmMf\x90Ll\xCDTnmMmEoqi-MmMiMk}YfMh,i\x07LhalffMnLlfMi,l\x07Lialfff\x92olcMmEo\xD5lLaMl,\xBDm\x07MlEoA,n\x07L`Ml,\xBDm\x07MlEoA,d\x07LcMl,\xBDm\x07MlEoA,g\x07LbMl,\xBDm\x07MlEoA,m\x07L}Ml,\xBDm\x07MlEoA,l\x07L|MlFnu\x91nLiMoLhn-MnMh&i-MmEomMh,oOkM`\x07EomOe,i\x07OjEoaOd,*Md\x07LgMjMg[oaMfMd(\x07LfMiMjEoi,\x92\x92\x92jOjMiMj&vLiMkMc\x07Mg[omMkMb\x07Ma[omM}Mk,l\x07MmEomMe,i\x07Eoe\xD5MmFn}\xCFMe\xD5\xCDTnmM|Mk,l\x07MmEoiMe,n\x07FnmTnmMh,l\x07LhalffMlMi\xD5TnuMo(i-MlMmEomMl,\xBDm\x07MlEoA,n\x07Eom,i\x07Eoi,w\x1B\xD5TnMfMlMn[oEMmMmFn\xC5lMf\xD5\xCDTn\xC5lMmMmDn\xEDoMnMo\xC0Zn\xEDof\xA2oljMmMn[o-MmEo]Ldn-MhMmEoE$i-Mm,\xBDm\x07MmEoA,f\x07Mh,o\x07EomLeMdMhMmEoQ,o\x07Lg,mLkn-MnMk&i-MjMmEoY\x07MoMk,o\x07EomOi,m%iMiMe\x07hMi,\x92\x92\x92\x92j+iMm,\xBDm\x07MmEoA,a\x07Mh,o\x07EomhMiffOiMe%Mi,m#iMgMi,o\x07Eomh,mfOi[omMjMmEoU\x07MiiMlEoiMi,g\x1B,a\x07MlEoeMi,\x92j\x07h,mf[omMj,i\x07LjMk,l\x07LkalffMh,l\x07Lhalff,mLoMmEoUMnMmEoE,o\x07LnMmEoULln-MlMn$i-MoMlEom@mmLoMl,i\x07LlalffMmMo[o)f\xABnlhMmEoEMmEo-LiMl,\x8Dm\x07Mo,h\x07OoEomi-MoEoqLkMoEoeLjMmEoYOmMi,o\x07Len-MmMe$i-MmEomLl,mLin-MiMoEoa$i-MliMoEo}Ml,g\x1B,a\x07MoEoyMl,\x92j\x07h,mfLhMnMoEom,o+Ml,m*iMhMi,o\x07EomOhiMkEoMh,g\x1B,a\x07MkEoMh,\x92j\x07h,mfhMhfMj}@Mi,l\x07LiMnMj\x07LnalffMm,i\x07Lmalffho-MoEo}MlEoiLlMmEoUOmMi,o\x07Lio-o-MoEoeOo,i*i-Mo,}+`laofn-MmMi$i-MnMmEomOoiMlMo\x07Eomh,mf[omMm,i\x07LmMn,i\x07Lnalffaofn-MmMi$i-MnMmEomOoMl\x07,\xEDiMov\x90mim\x90fimMm,i\x07LmMn,}\x07Lnalffalfn-MmMi$i-MnMmEomOkMl\x07,mMkvMo}@Mm,i\x07LmMoMn\x07Lnalfffff@mMmFnEMo\xD5	i-,mbfMmFnuMmDnm\xD7MmFn}\xCFMmDne\xD7\xCCMl\xCC\bf]mMmFnEMo\xD5Ml\xCD\vi-,lbfMmFnMMlMmDnm\xD7\xCDMmFn}\xCFMmDne\xD7\xCC\vf\xB7oonlMmMl}VOn(i-,mbfMmEoiMn,n\x07Dnm/\xED\xED\xED\xED\xED\xED\xED\xED\xED\xEE/m?LiMoMmEomMn,i\x07OhEom\xD5TnmMoMhEoi,\x92\x92\x92j\xD5TneMoMii)mmmmmmmmhMhEoa\xD5fTn}MoMi\xD5TnuMoMmEoiMn,n\x07Fnm\xF4TnMMoMii)mmmmmmmmhoMmEo\xD5lLoo-o-Mm,]\x07OmEomOi,n*i-Mi,i+`laof)mmmmmm\x9DRMo\xD5\xCEaof)mmmmmmmmMmEoiOmEoMMn,n\x07FnmOlMm,M\x07MmEou,o\x07EomFnmOk\xCEMl)mmmmmmmm)mmmmmmlMk)mmmmmmlvvalf)mmmmmm\x9DR)mmmmmmmmMm,mMo}2Mn+vffTnE,lftm,eMm[om,aMl[om,}MoTnmMmfxmMl,u,u\x07\xD5Mm\xD5Mo}N\xD5\xCF\xCDf\xDDlmoMm,\x8Dm\x07Mo,h\x07OoEo}Ml,g\x1B,a\x07MoEoyMl,\x92j\x07Lmo-o-o-o-o-o-o-o-o-o-o-MoEoicflolnihkjedgmfmfMm@mm\xD5adfMmAmm\xDAaefMmClm\xDAajfMmBlm\xD5akfMmEom\xDAahfMmEom\xD5aifMmDnm\xD4anfMmDnm\xD7aofMmGom\xD6alfMmFnmff~mMlMoMmEoM\x07,o\x07Eomf;loMmEoeMl,n\x07FnmOnMmEoeMo,n\x07FnmOii-MnMi	MnMiMmEoyvbfMmEoaMl,n\x07FnmMmEoaMo,n\x07Fnmf\xC2lln,mMlMmEo\xD1lvLnn-MniMmEo\xD5lLiMm,\x95l\x07OhFnM)\x92\x92\x92\x92\x92\x92\x82\fi,lhMhMn\xD5Mi};fh,lf(i-Mn,lLnalffMmEoMlMmEo\xD1l\x07Mn$i-,,mMmEo\xD1l\xD5}5bfMoMlMn\x07Mm,-OmEoeMmEoa\x07\x07Ll,m,MmEoiMl,l"i,lhMmMl}+fvflnn-MlMi"i-MhMm,u\x07Mi,u\x07EomMm,u\x07Ml,u\x07Eom+OniMoMm,u\x07Mi,u\x07OnEoi$i,lhMnEoe,l+i,mhMoMnEoiMnEoeff(hMnf,m*\x07LhMi,l\x07LialffMhf\xAAlllo-o-o-o-MmEomOn,l*i-Mn,ocnlonifMmEoiEombfMmEoiOmEomiMm,e\x07MmEom,n\x07Eomh,mfbfMmEoiLmMlMo})LlMmEoeMlMmEo}\x07OlMmEoa"iMlMmEoahMlf,o\x07EombfMmEoiOmMl,l,mMm,\x8Dm\x07OmMm,e\x07}MmEombfMmEoiOmEo}iMmEomEomh,mff\xC4olhn-MoMk&i-MmMlMk,n\x07Fnm}VOii-Mj,l\x07LjMmEoiMi,n\x07Dnm/\xED\xED\xED\xED\xED\xED\xED\xED\xED\xEE/m?i-,mLhMmEo\xADlLnn-MnMi*i-MmEomMnOh,i\x07EoaLnalffMmEomMi,i\x07LnMhi-MmEomMh,i\x07MnEoa[oahMmMnEoa[o\xADlfMiMmEo\xA9l+i-MmMh[o\xA9lfMmMmEo\xD1l,l[o\xD1lMm,-Mm,-EoaMnEoi,\xED\xED\xED}i,lhMnEoi,\x92\x92\x92jf[oaMmEoiMi,n\x07)mmmmmm\x9DTnmMmMi}\x7FhMmMi}xffMk,l\x07LkalffMm}hMjf\xA4ileMmEoQEomLhoMmEo\xFDli-MmEo\xD5lMmEo+i-MmEomMmEoQEom,i\x07EoeMmEoq$i-Mm,-EouEomMl+i,lhMm,-OnEoeMnEoa\x07,l\x07LiMnEoiMi,l"i,lhMnMi}+ffanfff,mfiMm,-EouEomMl+h,mfiMmEoeh,lfi-,mbfMmEo],n+iMmEoYOlEoyMlEoa+iMlEoih,lfi,mhMhMlEoeMlEo}OnMlEoa"iMnMlEoahMnf,o\x07Eom+fh,lf(i-,mbfMmEoQLeMmEo\rwMmEomMh,i\x07EomOi,\x92j,aMi,g\x1B,a\x07EoeLkMmEomMh,i\x07OnEoiOj,\xED\xED\xEDe(i-,mbfMoMmEoOlMlMo&vOlMm,-OoEoiiMoMk}.Eoih,mf,lOoMlMo$vLoMj,\x92\x92\x92j,l&Ld,mLln-MlMo$i-MnEomMlMi\x07*i,lhMjMnEoi*fi,lhMnEoeMmEoq"fi-MlbfMdi,mhMmEo\rwMkMlMi\x07Og,g\x1B,aMg,\x92j,a\x07Eoe*fi-MlbfMe,e\x07MlMh\x07,n\x07EoiMlMh\x07,l\x07*i-Ml,l\x07bfMn,}\x07LnMl,l\x07LlalffMof	loMlEom,i*i-bfMlEoiLh,mLln-MlMn$i-MhEoMMoMl,o\x07EomOk,n\x07MhMmEoiMk,n\x07Fnm}UTnmMl,l\x07LlalffMhMoMnMi}<f\xE7llnMlLhn-MhMlMo\x07$i-Mh,\x92j,aMh,g\x1B,a\x07OjEomMnLkMjMk[omMk(i-MmEoEi-MmMh}yfMm,-OkMkEoa,l\x07[oaMkEoy,l\x07Mh*i-MkMh}~fMkMh[oyfMnMi\x07LnMh,l\x07Lhalfff\xA1nleMl,\x8Dm\x07Mn,h\x07OkEom,l+i-MkEo}Mo,g\x1B,a\x07MkEoyMo,\x92j\x07MiMkEoe\x91gmmfMkEom,o*i-bfMkEo}Mo,g\x1B,a\x07MkEoyMo,\x92j\x07Lan-MeMkEoa$i-MaMe,o\x07oMiMeMkEoe\x07Ld,mLh,moMl,\x8Dm\x07Mn,h\x07OgEoeLjn-Mh,e\x07Mj i-,mMhMd\x07Dnm/m?`owMh,e\x07Lhalffn-MhMj$i-,mMhMd\x07@mm`owMh,l\x07Lhalff,lf`mwMgEoqLjMmEoiiMlMmEoiMgMlEoM,mMd}h,mfOh(i-MlMoMgMnMeMd}LhfMhi-Mh,\x92j,aMh,g\x1B,a\x07Mh,\x92j,aMh,g\x1B,a\x07Eom,l\x07[omMhalfMj,l}*Oh,g\x1B,aMh,\x92j,a\x07Of,l[omMf,m[oiMf,m[oeMjEoMh,g\x1B,a\x07MjEoMh,\x92j\x07MdMgEoe\x91gmmMhf[omMe,l\x07Lealfff\xB6nldMlEo\rwMmOdMo[oQMmEo]Lmn-MgMdEoE$i-,mLjMn,m*MlEomMd,\xBDm\x07MdEoA,n\x07Mg,o\x07Eom,i\x07OhEoi,\x92\x92\x92jOkMo&i-Mn,l+iMkMohMl,\xB5l\x07MkMo,l\x07})fLjfMmMo,o\x07LaMmMkMoMoMk&v,o\x07LfMhEoi,\xED\xED\xEDeiMjMhEom\x07LjMmLhn-MhMf$i-MjOk,l\x07LjMhMk[omMh,i\x07LhalffMhhMmLkMi,m*L`MhEomLe,mLhn-MhMj$i-Me,\x92j,aMe,g\x1B,a\x07Eoi,\x92\x92\x92\x92nLeMh,l\x07Lhalffn-MkMf$i-o-MkMe[omMk,i\x07LkM`i,mhMe,\x92j,aMe,g\x1B,a\x07Eoi,\xED\xED\xED\xEDf`mMe,\x92j,aMe,g\x1B,a\x07Eoi,\x92\x92\x92\x92nLeaofffMkfLjMd,\xBDm\x07MdEoA,f\x07Mg,o\x07MjMm,o\x1B[omMjLmn-MmMa$i-Mm,m[omMm,i\x07LmalffMg,l\x07Lgalfff[llMm,l\x07Ml\x07OmMo}ri,lhMn}rf}&/\xDDoMoMm}%\xC0MnMm}%\xC0/]\xD7f\x97llhMl,\x8Dm\x07Mo,h\x07LkMmEoEMmEo-Lj,mLon-MoMj$i-MmEoYMo,o\x07EomOi,m*Lh,mLln-Ml,l\x07OlMo\x07Mj$iMmEoYMlMo\x07,o\x07EomMiMlMh\x07+h,mf`mfMnMiiMkEo}Mi,g\x1B,a\x07MkEoyMi,\x92j\x07h,mfOh[omMnMl[oiMhi-,mLin-MiMlMkEoe$i-MmMmEo)MiMh\x07@mm[o)Mi,\xEDM\x07LialfffMn,e\x07LnMe,l\x07LeMlMo\x07LoalffMef\xB8jofloMmEoeMmEoa,m\x07EomLeMmEomLfMni-n-MoMi&i-MfMnMi\x07@mm,m*\x07LfMi,l\x07Lialfffn-MdMmEoi$i-Mm,u\x07Md,u\x07LgMeMlMd}6Lj,mLin-MoMi&,mMjvi-,lMjMi,n\x07FnmOb)mmmmmmmm\fMbMgEomOkFn\xEDl\viMbMkFn\xE5l\bh,mfv(i-,MiMb}5ahfMi,l\x07LialffMgEomFn\xF5o)\x92\x92\x92\x92\x92\x92\x82\fiMoh,mLi,mLhn-MiMmEom$i-MmEoeMiMmEoa\x07OkEo}i,mhMkEoafLaMiLkn-MoMk&i-MmMdMa,l\x07Oj}3Mh\x07Lh,mMjMniMnMk\x07@mmh,mfvLaMkMmEom\x07LkalffMi,l\x07LialffMhfLkMgEomMkMf}0Oki-MkanfMd,l\x07Ldalff,m,MeMo}$vfOki-Mkbf,mLkn-MoMk&i-MeEoyMe,-EoaLiMeMoMk}*LfMeEoyMe,-EoaMiL`,mLan-MaMeEoM$i-MlMa,o\x07EomMkMe,\x8Dm\x07Ma,h\x07OjEoe\x07LhMjEom(i-o-MjEo}Mf,g\x1B,a\x07MjEoyMf,\x92j\x07OiM`MeEoeOd\x07Lgo-o-MjEoeOj,i*i-Mj,}+`laofn-MiMg$i-MiMhEom[omMiMd\x07LiMh,i\x07Lhalffaofn-MiMg$i-MiMh\x90mim\x90fimMiMd\x07LiMh,}\x07Lhalffalfn-MiMg$i-MiMhMj}XMiMd\x07LiMhMj\x07LhalffffMa,l\x07LaalffM`MkOi\x07Ld,mLgn-MiMd$i-MmEoeMmEoaMiMmEom\x07Lj,lLhMmEom,l+iMeEoIh,lf(i-Mni-n-MiMh\x07Md$iMnMiMh\x07,l\x07@mmh,lf(i-Mh,l\x07LhalffhMdMiLhffMmMjMeMlMfMiMh}Oh(i-,lLhMmMjMeMlMfMi}Mg\x07LgfMiMh\x07LiMhMf\x07LfMniMnMi,l\x07@mmh,mfi-MjMmEo},m*}bfalffMgMc\x07LcMkM`\x07LkalffMcf\xB8nodnMo,\x92\x92nLaMo,}\x1BLdMh,lL`,mLon-MoMmEoE$i-MmEo]MoMmEoQ,o\x07LcMm,\xBDm\x07MmEoA,f\x07Mo,o\x07EomLg)mmmmmmmmL|)mmmmmm\x9DRL},mLk,mLe,mLjn-MkMg$MnMk&i-o-,mMcMk,o\x07EomOfOj,g\x1B,aMj,\x92j,a\x07Eoi,\xED\xED\xED\xED,m*OjMk,l\x07Mg+M`v`mM|M}MlMfMa}7\xCF\xCDL|)mmmmmm\x9DRLbMd,\x92\x92n*i-)mmmmmm\x9DR)mmmmmmmmMlMfMd}7Ob)mmmmmmmm\fvMbMh,ovLbfM}MiMb\xCF\xCFL}Mk,l\x07LkMjMb)mmmmmmmm\fOe`maofffMm,\xBDm\x07MmEoA,o\x07Mo,n\x07M|TnmMm,\xBDm\x07MmEoA,h\x07Mo,n\x07M}TnmMm,\xBDm\x07MmEoA,a\x07Mo,o\x07Mk[omMoMm,\xBDm\x07MmEoA,c\x07\x07MeWmmMoMm,\xBDm\x07MmEoA,b\x07\x07MjMe(WmmMo,l\x07LoalfffmMmMo[omMmMn[oiMmMm,mMn,m}4\x91n\x07[oeMmMi}N[oaMmMh[o},mLnn-MoMn&i-MmEoeMnMmEoa\x07OhMl[omMh,l[o}MhMh,E\x07[ouMhMi[oqMn,l\x07Lnalfff\xAColoMi}rOj(i-Mh}rLjfMmMl[o\rMmMo[oMmMn[oMm,-Ol,y\x07LkMlMk[ouMlMk[oqMmMm,\xDAo\x07,Ok[omMmMkMo,l\x07Mn\x07Ol,l\x07,i\x07[oiMmMjiMmEoiMl,l\x07,n\x07h,mf[oeMmMl[oaMm,MMl\n[ouMm/lMmXou\xEB\xD7Tn}MmMmEou,x i,h,l,XMmEou,lf[oqMm,]\x07MiMkMlMj}&\xCA\x07,b\x07,OnMlMoMo,l\x07Mh,b,l+vOoMmEoiOjMmEoeOk}Mh,Mi-MmMh,b[oUMmMmEoY[oQhMm,U\x07MhMiMl}%Mn\x07,b\x07,MlMoMjMk}ff\xBAhiinil)mmmmmmmm)mmmmmmlMm,M\x07MmEou,o\x07EomFnmOg)mmmmmmlvLfn-MoMk&i-MhMk,n\x07MniMk\xD5Ml}w\xCDMo\xD5\xCEOaMg)lmmmmmmm\xCE\xCF\xF1Mg)lmmmmmmm\xCE)mmmmmm\x9D\xD2\xCD\xC9)lmmmmmmm\xCFMaMg\xCF)mmmmmml\xC8Mg)mmmmmmlvhoMg)mmmmmmli-MlMg)lmmmmmmm\xCE\x91n})\xD5)lmmmmmmm\xCFalfMl}wMg\xCF)mmmmmml\xC8ffTnmMiMk,o\x07,m[omMk,l\x07LkalffMmEouLnn-Mni-MmMn,o\x07EoqLeMn,i i-/mL|MiLln-MlMiMo,o\x07$i-M|MeMlEom,h\x07Dnm\xE8L|Ml,i\x07LlalffMmM|So	f,mLln-MlMo$i-MeMiMl,o\x07EomOd,h\x07Oj\x90mimO`\x90ammmmmmmmmmmmmmmmM`\x90`mlonihkj}|\x7F~yx{z\x90\x9DlO`\x90ammmmmmmmmmmmmmmm\x90`edgfa`cb}|\x7F~yx{zMj\x900n}\x90\x9DlLbMhMl,n\x07FnmOg\x90yOcM`\x90!O}\x90\xA9lOkMk,lMcMb\x90!Oc\x90\xA9l,l\x07LkM}M`\x90#McMb\x90#\x90\x9AlO`M`\x90ammmmmmmmmmmmmmmm\x90`edgfa`cb}|\x7F~yx{z\x90\x9Al\x90LmLaMhMl,n\x07MgMk,n+MjFnuMf\bi,nLkn-MkiMjMk,n\x07FnmMf\bh,mfi-Mk,lLkalffMghMaf\xCCMf\xC8TnmMiMl,o\x07Md,oMk\x07[omMl,l\x07LlalffMn,lLnalfff\xCEklioMmEo]LkMn,oi,lMk,i*Mk,n*Mn,o*i,lhMmEofvh,mfi-,,nMn\xD5}5alf,mMi(Mk,l+`mw,mMk,n+iMiMmEoYEoi"hMk,i+iMmEoU}Mh,mff`mw,,iMi\xD5}5fOki-MkbfMl,m[oEMl)mmmmmmmmTnmMl)mmmmmmmmTnuMm,l[o	Mni,mhMmEoi,lhMmEo\xD1lffi-,mLnn-MoMn&iMmMl}-h,mfi-MmMlMn,l,mMi}wMmMlMnMn,l\x07}?MmMlMn}]Mm}hMn,l\x07LnalffhMoOkoMmOh,\x95l\x07LjMmEo\xD5lLo,mMkOmiMj)mmmmmm\x9DRMo}8h,mf(`mwMmMjFnuMjDnm\xD7MjFn}\xCFMjDneMm\xC0/l\xD7\xCC)mmmmmm\x9D\xD2\xCD\b`mw,lLen-MmMe,l&i-MjFnuMjDnm\xD7MjFn}\xCFMjDneMeMmMe,l\x1B\x07Oo\xC0/l\xD7\xCC)mmmmmm\x9D\xD2\xCD\bi-MoLehMoLmfalffMefOm&i-MhMlMm}\\fMhMl,mMn,liMmMiiMiMhEo\xD5lOoMoMi&vhMhEo\xD5lfOoMmMo$vhMmfMnMi}Li,mLoMl,\xBDm\x07MlEoA,n\x07Ln,mLmn-MmMi,o$i-MoMhEomMmMn\x07EomOe,i\x07EoiMhEoiMe,n\x07EomLoMm,i\x07LmalffMlMo[o)MhEo(Mi,m*i-MhMl,mMi}?f,mLnn-MnMi$,mMhEoviMhMl}-h,mfi-MhMlMnMn,l\x07}?MhMlMn}]Mn,l\x07LnalffMkMlEoE&iMlFnm)mmmmmmmm\fh,mfi-Ml)mmmmmme-MlEoE\xD5Mk\xD5}!ffMlEoEfmMmMlTnMmMo[oMmOoMnTn\xE5oMoMiTn\xCDoMoMhTn\xFDoMoMkTn\xF5oMoEoU,l+Omi-MoFn\xF5o)\x92\x92\x92\x92\x92\x92\x82\fLmfMoMl)mmmmmm\x9D\fMmMmv,m*[o\xFDlf\xDComMmMl,b[omMmMo[oio-o-o-o-MmEom,lcimmlonfbfMmEoiOmMm,u\x07[oeMmMi[oaMmMmEoeMn,o\x07[ombfMl,},m*Lh,mLoMn,n,l\x07LnMmEoiOl,M\x07OkMl,\x9Dm\x07Oi[om,eLmn-Mm,i&i-MkMo,l\x07Oo,o\x07MiMn,n\x07Oi[omMnOm,o\x1B,n\x07,LnalffMlMo[ouMlMhiMi,M\x07MlEoIh,mf[oqMl)mmmmmm\x9DR}ebfMmEom,k+LlMmEoiOmMm,M\x07[omMmMmEomMn,o\x07[oiMmMh[oeMmMk[oaMmMl[oyMm,m[o}f\xCElmMmEoeMlMmEoa\x07OmEoIMn,l&iMmEouMmEoMMmEoIMn\x07OlMmEoq"iMlMmEoqhMlf,o\x07Eomh,mfOl(i-,,nMn\xD5}5bf,lMh)mmmmmmmm\fMhMoFn\xEDl\viMhMoFn\xE5l\bh,mfv(i-,,hMh}5bfMmMoMlMnMiMh}f\xC1ilhMmEo\xD1l,m*Oj(i-MmEo\xD5lLjMm,\x95l\x07OdFnM)\x92\x92\x92\x92\x92\x92\x82\fi,lhMd)mmmmmm\x9DRMj};f(Ljf,lMoMn,\xED\xED\xED}vLdMjiMmEo\xD1lMmEo"h,mfi,hMd,l*Mji,mhMmEo\rwMl,\x92j,aMl,g\x1B,a\x07EoeMm,-EouEom+fi,lhMm,-OeEoeMeEoa\x07Md\x07LgMeEoiMg,l"i,lhMeMg}+ffi,m,oMmEoIOki-MmMmEomMk,i\x07Eom[oIh,mMmEoMMmEoa+`lwMmMmEoM,l\x07Ok[oMfMmEomMk,i\x07MmEomMk,i\x07Eoe,l\x07[oeMkfOkvh,ffOei-MmMlMo}^Me,mMmEo\xD1l\xD5}5bfMmMk[o\xF9lMmEomMk,i\x07OeMl[omMeMoMnMi,w[oiMe,m[oaMmMmDn\xA5l/lMi\xC0\xEB\xE9Zn\xA5lMoMmEo\xBDl&i-MmMo[o\xBDlfMji-MmEoiMk,n\x07Mh\xF4\xF7TnmMm,-MdMm,-Eoa\x07[oaMmEo\xD1li-MmEomMmEo\xA9l,i\x07Mk[oahMmMk[o\xADlfMmMk[o\xA9lMmMmEo\xD1l,l\x07[o\xD1lhMmMkMh}AfMj(f\xF5elk,\xED\xED\xEDuLgMoLkMnLjn-Mk,\x92j,aMk,g\x1B,a\x07OeMeEom,l\x07[omMj,lOji-MeEoiOeMk,l\x07*i-Mg,m,\xED\xED\xED}Me,\xED\xED\xED\xEDvLgfMe,\x92\x92\x92\x92nLkalffMg,\xED\xED\xED}i-oMmEoeLjMlEo\xFDli-MlEo\xD5lMlEo+i-MlEomMlEoQEom,i\x07EoeMlEoq$i-Ml,-EouEomMj+i,lhMl,-OjEoeMjEoa\x07,l\x07LkMjEoiMk,l"i,lhMjMk}+ffanfff,mfi-MmEoeLfMlEomMlEoQEomOk,i\x07OeEomLmMeEoi,\x92\x92\x92jLjMlMk[o\xF9lMlMlDn\x95l/lZn\x95lMnMj*i-MlMlFn\xF5lMn\xD5Mj\xD5\xCC\xCDTn\xF5lfMfMl,-OdEouEom*i-MdMf}afMdEouMdEouEoi,l\x07[oiMeEoi,\xED\xED\xED}i-oMlEo\rwMm,\x92j,aMm,g\x1B,a\x07EoeOdMl,-EoqOfEom+i-MfEoi,l&alf,mfi-Ml,-OdEoqMdEoqEoi,l[oihMlMd}zfhMlMmMj,m}=fMeMo[omMeMnMgMi,w[oiMe,m[oaMlMlDn\xA5l/lMi\xC0\xEB\xE9Zn\xA5lMnMlEo\xBDl&i-MlMn[o\xBDlfMeMeEoe,l\x07[oeMlEoiMk,n\x07Mh\xF4TnmMlEoei-MlMlFn\xCDl)mmmmmm\x9DR\xCDTn\xCDlMlEoeMk,n\x07MlFn\xCDlTnmfMlEoQOoMo,e\x07MoEom,n\x07Eoi[omMlEoQMlEoY*i-Ml,]\x07OoEom,n+iMoEoiOnEoyMnEoa+iMnEoih,lfi,mhMkMnEoeMnEo}OiMnEoa"iMiMnEoahMif,o\x07Eom+fh,mfi-MoEoiOoMoEo},l\x07OnMoEoa"iMnMoEoahMnf[o}hMoEom}ri-MoEoiMk}{hMoEom,i*i-MoMk}ufMoMkMh}FfffMlEo\rLnn-Mm,\x92j,aMm,g\x1B,a\x07OoEoi,\x92\x92\x92\x92nLlMoMoEom,lOo[omMo(i-MnEoEi-MnMm}yfMn,-OoMoEoa,l\x07[oaMmMoEoy,l\x07*i-MoMm}~fMoMm[oyfMj,lOji-MlLmalff,lbffMlMoMnMgMiMh}f\xE6noiln-MnMk&i-MoMk,n\x07FnmOgMmFn\xEDl\viMgMmFn\xE5l\bh,mfi,lhMg)mmmmmmmm\ff(i-,MkMg}5bfMk,l\x07Lkalffn-MnMj&i-o-MmMlMj,n\x07Fnm}VOk(`mMd,l\x07LdMoMj,n\x07FnmLgMmEoiMk,n\x07Dnm/\xED\xED\xED\xED\xED\xED\xED\xED\xED\xEE/m?i-MmEoiMk,n\x07Mg\xF4\xF7TnmalfMmEoiMk,n\x07Mg\xF4TnmMmEoei-MmMmFn\xCDl)mmmmmm\x9DR\xCDTn\xCDlMmEoeMk,n\x07MmFn\xCDlTnmfMmEo]}ri-MmEoYMk}{fMmEoQMmEoY*iMmEoU}rh,mfi-MmEoQMk}{fMiMe,o\x07Mk[omMe,l\x07LefMj,l\x07LjalffMmMm,]\x07MiMeMh}MmEoQMmEoY*i-MmMm,U\x07MiMeMh}fMdf\xD5oldMoEoqLfn-MnMj"iMjMmEoM$h,mfi-Mm,\x8Dm\x07Mj,h\x07OeEom,o*i,lhMeEoqMoEoq*f(i-MnMj+iMihMeEoafLc,mLdn-MdMc$i-MeEo}Ml,g\x1B,a\x07MeEoyMl,\x92j\x07Md,o\x07EomOgioMfEoMg,g\x1B,a\x07MfEoMg,\x92j\x07LaMoEoeL`,mLkn-Mk,e\x07M` i-,mMkMa\x07DnmMhMk\x07Dnm?`owMk,e\x07Lkalffn-MkM`$i-,mMkMa\x07@mmMhMk\x07@mm*`owMk,l\x07Lkalff,lfh,mfi-MgbfMd,l\x07LdalfffMj,l\x07Ljalff,mf\xC8honlMi,\x92j,aMi,g\x1B,a\x07/lZnmn-MoEoIiMkMoEoM$h,mfi-MlMoMiMkMnMk,o\x07EomMhMo,\x8Dm\x07Mk,h\x07OjEoeMjEoa\x07}	Mk,l\x07LkalffMlEo}i-MlMo}ffMlMlEoa,l\x07[oaMi,\x92j,aMi,g\x1B,a\x07MlEoe[oeMlEoiLkMlMi[oiMki-Mk,\x92j,aMk,g\x1B,a\x07OkMiMkEoi[oifMlEoIMlEoq+i-o-MlEouMlEoM,o\x07OjEomLkMjMi[omMlMlEoM,l\x07OiMlEoq"iMiMlEoqhMif[oMMk,\x92j,aMk,g\x1B,a\x07OjEom,lLiMjMi[omMi`mMoEoEi-MoMk}yfMo,-OiMiEoa,l\x07[oaMkMiEoy,l\x07*i-MiMk}~fMiMk[oyfhMlEouMlEoMMlEoI\x07OkMlEoq"iMkMlEoqhMkf,o\x07Mi[omMlMlEoI,l\x07[oIf,mLin-MiMmEoi$i-MlEoaOjMm,u\x07Mi,u\x07OkEoi$i,lhMkEoe,l+i,mhMjMkEoiMkEoeff(i-MoMnMi}6OjiMjMh,n\x07FnmhMkFn}fLdMeMe,l\x07MlMkEomMlEoIMkEoiOe,l&iMlEouMlEoMMlEoIMe\x07OeMlEoq"iMeMlEoqhMef,o\x07Eomh,mfMkEoiMkEoaMd}vLefMi,l\x07LialffMef\xBChofnMmEoYLkMmMhiMhMmEo\xD5l$h,mfiMmEo\xD5lMhh,mfO`)mmmmmmmm}DMk,M\x07MkEou,o\x07EomFnmL~Ml,\xBDm\x07MlEoA,n\x07Mo,o\x07LjMl,\xBDm\x07MlEoA,k\x07LhMk,M\x07MkEou,o\x07EomFnmO|)mmmmmmmm\fM|)mmmmmmmmi-,mLnhMi,li-Mm,\xB5l\x07LcMnLiMl,\xBDm\x07MlEoA,j\x07LgMhLbMl,\xBDm\x07MlEoA,`\x07Le,mLn)mmmmmmmm)mmmmmmlMk,M\x07MkEou,o\x07EomFnm)mmmmmmlvL|n-MnMi$iMk,M\x07MkEou,o\x07EomFnmO\x7F)mmmmmmmm\fM|M\x7F	h,lf(i-MnLhMkMcMiMnO},mMeMb},mLdn-MdM}$i-MkEoMMeMd,o\x07EomOf,n\x07FnmO\x7F)mmmmmmmmi-MkEoMMf,n\x07)mmmmmmmmTnmMgMn,n\x07M\x7FTnmMjMn,o\x07Mf[omMn,l\x07LnfMd,l\x07LdalffMnMi$i-MkMjMh,o\x07MnMhMe}<fMa,l\x07Laalff,mLhn-MnMh&i-MkEoMMjMh,o\x07Eom,n\x07MgMh,n\x07FnmTnmMh,l\x07LhalffMnMi$Ma,l&i-MkMjMnMe}<fhMkMm,\xB5l\x07MnMi,o,m*MjMh}ff,mLin-MnMi&i-MlEoAMl,\xBDm\x07\x07MoMi\x07,n\x07MkEoMMjMi,o\x07Eom,n\x07FnmM~\xCETnmMi,l\x07LialffMmM`)mmmmmm\x9DR}DMnf\x90hohlMm,]\x07OkEom,i+i-MmMlMoMnMiMh}\x1BbfMl,\xBDm\x07MlEoA,n\x07Mo,o\x07Lj)mmmmmm\x9DRLfMkEom,n+i-MkEoiLk)mmmmmm\x9DRMhiMhMmEo\xD5lOeMhMe$vhMmEo\xD5lfOh\xD5\xCELfMi,li-Mm,\xB5l\x07LgMnLmMl,\xBDm\x07MlEoA,`\x07Le,mLin-MmMi&i-MeMi,o\x07MgMhMi})Mi\x07Od[omMkMiMd}_MjMi,o\x07MkEoeMiMkEo}\x07OdMkEoa"iMdMkEoahMdf,o\x07Eom[omMi,l\x07Lialffn-Mmi-MkMm,lMeMm,l,o\x07Eom}_Mm,lLmalffhMm,\xB5l\x07LmMi,o,m*Le,mLin-MnMi&i-MjMi,o\x07MeiMi\xD5Mm}w\xCDMn\xD5\xCEMh\xD5\xCF\x91nOdMh,lOgMdMg$vhMmMh})f[omMi,l\x07LialffMjLmn-MmMjMn,o\x07$i-MmMkEoeMkEo}MmEom\x07OiMkEoa"iMiMkEoahMif,o\x07Eom[omMm,i\x07Lmalfffho-Mi,lLm,mLhMk,mMn}2Lin-MnMh&i-MjMh,o\x07Mi[omMmi-MkEom,l+iMkEoi,e\x07Mi,n\x07EoihMkEom,o+iMkEoi,e\x07Mi,n\x07EomhMkEoiMi}}MkEoiOiEo}iMiEomEomh,mfffLifMh,l\x07LhalffMmiMkEom}Mh,lf`m,mLmn-MmMn$i-MkEoiMjMm,o\x07Eom}cMm,l\x07LmalffffMoLmn-MmMoMn\x07$i-MlEoAMl,\xBDm\x07\x07Mm,n\x07MfTnmMm,l\x07LmalffMnf\x07mMm,u\x07Ml,u\x07OmMo[omMmMn[oiMmMi[oeMmMh[oaMmMkTn},lMk)mmmmmmmm\fMkMmEomOmFn\xEDl\viMkMmFn\xE5l\bh,mfvi,mh,,kMk}5ff\xF3`ofl,mMkMlEo}vLkMmEoi(i-MkMlEoqOjMkMj$vLkf,mLjn-MjMmEoi$Mk,i"i-oMlEoa,l\x07Le,mMm,u\x07Mj,u\x07OdEoe,l*i,lhMeMdEoi$i,lhMdEoe,l+i,mhMeMdEoiMdEoefffi,lhMmMjMe}3,l*f`mw,lLen-MeMdEoi$i-,mMlEouMlEoMMlEoIMe\x07OfMlEoq"iMfMlEoqhMff,o\x07EomMiMe*`owMe,l\x07LealffMdEomMlEoeMk}\ffLkMgMm,u\x07Mj,u\x07Eoi\x07LgMj,l\x07LjalffMk,i$i-,mbfMiLjMlEoii-MlEoiOe,g\x1B,aMe,\x92j,a\x07Mj[oifMkMj\x07,lLdMlEoeLfMj,\x92j,aMj,g\x1B,a\x07Len-MjMd i-MeMg\xC0Mj,l\x07\xC0/M\xEB\xE9ZnmMeMf[oeMe,a\x07LeMj,l\x07LjalffMd,\x92j,aMd,g\x1B,a\x07,m[oiMlMd[oiMlMkMlEoa\x07[oaMd,l\x07MkMlEoqOjMkMj$vLjn-MjMd i-Mj,\x92j,aMj,g\x1B,a\x07Mj,\x92j,aMj,g\x1B,a\x07Eom,l\x07[omMlEoIMlEoq+i-MlEouMlEoM,o\x07OeEomLgMeMj[omMlMlEoM,l\x07OeMlEoq"iMeMlEoqhMef[oMMoMg}|hMlEouMlEoMMlEoI\x07OeMlEoq"iMeMlEoqhMef,o\x07Mj[omMlMlEoI,l\x07[oIfMj,l\x07Ljalff,mLln-MlMmEoi$i-Mm,u\x07Ml,u\x07EoiLe,lLjn-MjMe$i-MiMjOd,g\x1B,aMd,\x92j,a\x07MiMjOd,g\x1B,aMd,\x92j,a\x07EomMkMeMjOdMkMd$v\x07[omMkMj"i-MiMk\x07MjOd,g\x1B,aMd,\x92j,a\x07MiMk\x07MjOd,g\x1B,aMd,\x92j,a\x07EomMeMj[omfMj,l\x07LjalffMl,l\x07Llalffn-M`MmEoi$i-MoMnM`}6Oji-MjMh,n\x07LjfMm,u\x07M`,u\x07OaEoi,\xED\xED\xEDuMaEoa,wLcMaFn}L\x7FMjLeMaEomOdEomMdEoQO}EomOl,i\x07EomLfMdEomMl,i\x07Eoi,\x92\x92\x92jLbMlMk\x07,lL|MdEomMl,i\x07LgMi,l\x07MaEoiOaLjn-MjMkMa\x07$i-MgMj[omMgMc[oiMgMgEoe,l\x07[oeMg,m[oaMg,}\x07LgMj,l\x07LjalffMdEoiMl,n\x07OgLjn-MjMgMk,n\x07$i-Mei-MeMjMg\x07FnmL\x7FfMjM\x7F\xF4TnmMj,e\x07LjalffM}M},e\x07M|,n\x07Eoi[omMdM|[o\xF9lMdMdDn\xA5l/lMc,w\x1B\xC0\xEB\xE9Zn\xA5lMc,\x92\x92\x92jOjMdEo\xBDl&i-MdMj[o\xBDlfMdMdFn\xF5lMk\xD5Mc,\x92\x92\x92j\xD5Mb\xD5\xCC\xCF\xCDTn\xF5lMdMdDn\x95lMk\xC0Zn\x95lMdEo\rwMf,\x92j,aMf,g\x1B,a\x07EoeLeMd,-OjEouMjEouEoiMk\x07[oiMjMe}.OjMjEoiMk[oiMdEo],n+i-MdEoYOjMkMjEo}\x07OeMjEoa"iMeMjEoahMef[o}fMdEo],i+i-MdEoYLe,mLjn-MkMj&i-MeEoMMlMj\x07,n\x07MeMgMj,n\x07Fnm}UTnmMj,l\x07LjalffMlMk\x07,lLg,lLjn-MjMeEou i-MeMjMl,o\x1BOlMg,o\x1BOg}"Mj,l\x07LjalfffMkMb\x07,lMkMbMkMb$vOg,lOl,lLjMdEo\rOeMfMl,l,l}MeMlMf\x07MjMg,m}MeMlMf\x07Mj\x07MlMl,}M`,l\x07L`alffMkfRmMm,\x8Dm\x07Ml,h\x07OmMo[omMmMn[oiMmMi[oeMmMh[o}MmMk[ouMmMj[oaMmMe[oqf';

// src/abi.ts
var ABI_VERSION = 2;
var E_RATE_LIMITED = -2;
var E_PRIORITY = -3;
var E_LENGTH = -4;
var E_KEYS_EXHAUSTED = -5;
var ERROR_ARGUMENT = 12 / 4;
var ERROR_VALUE = 16 / 8;
var KEY = 0;
var PROBABILITY = 1;
var PRIORITY = 2;
var WEIGHT = 3;
var RETURN = 4;
var DISCOUNT = 5;
var TIMES_SAMPLED = 9;
var TABLE_SIZE = 10;
var LENGTH = 11;
var STEPS = 12;
var TERMINATED = 14;
var TRUNCATED = 15;
var BLOCKED = 0;
var HAVE = 1;
var NEED = 2;
var DRAW_LONGEST = 3;
var DRAW_SHAPE = 4;
var DISTINCT = 1;
var STRATIFIED = 2;
var BOOTSTRAP = 2147483647;
var COUNTERS = ["size", "steps", "pending", "inserts", "samples", "deletes", "uniqueSamples", "episodes", "deletedEpisodes", "retiredSlots"];
var SHAPE = 10;
var LONGEST = 11;

// src/dtype.ts
function info(code, array, least, most) {
  return { code, bytes: array.BYTES_PER_ELEMENT, array, least, most };
}
var DTYPES = {
  bool: info(0, Uint8Array, 0, 1),
  i8: info(1, Int8Array, -128, 127),
  u8: info(2, Uint8Array, 0, 255),
  i16: info(3, Int16Array, -32768, 32767),
  u16: info(4, Uint16Array, 0, 65535),
  i32: info(5, Int32Array, -2147483648, 2147483647),
  u32: info(6, Uint32Array, 0, 4294967295),
  i64: info(7, BigInt64Array),
  u64: info(8, BigUint64Array),
  f32: info(9, Float32Array),
  f64: info(10, Float64Array)
};

// src/core.ts
var GRANULE = 4096;
var MOST_BYTES = 4294901760;
var builtIn;
function compile(bytes) {
  return new WebAssembly.Module(Uint8Array.from(bytes, (char) => char.charCodeAt(0) ^ bytes.charCodeAt(0)));
}
var Core = class {
  /** @param module another build of the core: the scalar one, or where a host compiles ahead of time */
  constructor(maxBytes, module) {
    /** Raised when memory grew or scratch moved: whoever keeps views of his own makes them anew. */
    this.generation = 0;
    /** Told at once when memory moved. */
    this.lookers = /* @__PURE__ */ new Set();
    this.#scratch = 0;
    this.#scratchBytes = 0;
    this.#maxBytes = maxBytes;
    if (module === void 0) builtIn ??= compile(core_bytes_default);
    const { exports } = new WebAssembly.Instance(module ?? builtIn, {});
    this.x = { ...exports, ...Object.fromEntries(Object.values(exports).map((one, i) => [`$${i.toString(36)}`, one])) };
    const version = this.x.ABI_VERSION?.value;
    if (version !== ABI_VERSION) throw mustBe("UNSUPPORTED", "module", `a core of ABI version ${ABI_VERSION}`, version);
    this.x.arena_init(Math.floor(Math.min(maxBytes, MOST_BYTES) / GRANULE));
    this.refresh();
  }
  #maxBytes;
  #scratch;
  #scratchBytes;
  /** Memory has grown: makes the views anew. To be called where `u8.length` is 0. */
  refresh() {
    for (const dtype in DTYPES) this[dtype] = new DTYPES[dtype].array(this.x.memory.buffer);
    this.generation++;
    for (const looker of this.lookers) looker.moved();
  }
  /** Takes zeroed memory. */
  alloc(size) {
    const at = size > MOST_BYTES ? 0 : this.x.arena_alloc(size) >>> 0;
    if (this.u8.length === 0) this.refresh();
    if (at === 0) throw this.failure();
    return at;
  }
  /** One region for everything that lives no longer than a call; it moves when it grows. */
  scratch(size) {
    const old = this.#scratchBytes;
    if (size > old) {
      this.x.arena_free(this.#scratch, old);
      if (!this.#region(Math.max(size, 2 * old, 4 * GRANULE)) && !this.#region(size)) this.#region(old);
      if (this.u8.length === 0) this.refresh();
      this.generation++;
      if (this.#scratchBytes < size) throw this.failure();
    }
    return this.#scratch;
  }
  /** The region for scratch; whether there was room for it. */
  #region(bytes) {
    this.#scratch = bytes === 0 || bytes > MOST_BYTES ? 0 : this.x.arena_alloc(bytes) >>> 0;
    this.#scratchBytes = this.#scratch === 0 ? 0 : bytes;
    return this.#scratch !== 0;
  }
  /** The error of a call that found no room, or no key. */
  failure(code) {
    return code === E_KEYS_EXHAUSTED ? new ReplayError("KEYS_EXHAUSTED", "no key is left: make a new Replay") : mustBe("OUT_OF_MEMORY", "maxBytes", "enough for this call (or lower maxSize or maxSteps)", this.#maxBytes);
  }
};

// src/columns.ts
var MOST2 = 16777215;
function wholeOf(leaves) {
  return leaves.map((leaf) => ({ keys: leaf.keys, leaf, start: 0, step: 1, squeezed: false }));
}
function leafAt(subject, leaves, path) {
  const found3 = leaves.find((leaf) => leaf.path === path);
  if (found3 === void 0) throw mustBe("NOT_FOUND", subject, oneFrom(leaves.map((leaf) => leaf.path)), path);
  return found3;
}
function selectionsOf(columns, leaves) {
  const selections = Object.entries(columns ?? {}).map(([name, column]) => {
    const subject = `columns.${name}`;
    const keys = column?.at !== void 0 ? "leaf, at" : column?.steps !== void 0 ? "leaf, steps" : "leaf, at, steps, from, to, step";
    const { leaf, at, from, to, step, steps } = onlyKeys(subject, column, keys);
    const place = (key, value) => integer(`${subject}.${key}`, value, -MOST2, MOST2);
    if (!Array.isArray(steps ?? [])) throw mustBe(TypeError, `${subject}.steps`, "an array", steps);
    return {
      keys: [name],
      leaf: leafAt(`${subject}.leaf`, leaves, leaf),
      steps: at === "bootstrap" ? [BOOTSTRAP] : at === void 0 ? steps?.map((value) => place("steps", value)) : [place("at", at)],
      start: place("from", from ?? 0),
      step: integer(`${subject}.step`, step ?? 1, 1, MOST2),
      to: to === void 0 ? to : place("to", to),
      squeezed: at !== void 0
    };
  });
  if (selections.length === 0) throw mustBe(RangeError, "columns", "an object with at least one", columns);
  return selections;
}
function stepsOf(selection, width) {
  const { steps, start, step, to = width } = selection;
  const first = start < 0 ? width + start : start;
  const end = to < 0 ? width + to : Math.min(to, width);
  return steps ?? Array.from({ length: Math.max(Math.ceil((end - first) / step), 0) }, (_, k) => start + k * step);
}

// src/layout.ts
var NARROW = 0;
var WIDE = 1;
var SHARED = 2;
var WIDE_BYTES = 1024;
var HEAD_BYTES = 12;
function layoutOf(found3) {
  const pools = [];
  const leaves = found3.map((leaf, index) => {
    const { dtype, shared, stack = 1 } = leaf.leaf;
    const bytes = leaf.size * DTYPES[dtype].bytes;
    const frameBytes = bytes / stack;
    const kind = shared !== void 0 ? SHARED : bytes >= WIDE_BYTES ? WIDE : NARROW;
    if (shared !== void 0) share(pools, shared, frameBytes, leaf.path);
    const part3 = kind === SHARED ? 4 * stack : bytes;
    const alignment = Math.min(part3 & -part3, 16);
    return { ...leaf, index, kind, bytes, frameBytes, offset: 0, staged: 0, part: part3, alignment };
  });
  const inRow = leaves.filter((leaf) => leaf.kind !== WIDE).sort((a, b) => b.alignment - a.alignment);
  let at = 0;
  for (const leaf of inRow) {
    leaf.offset = at;
    leaf.staged = at;
    at += leaf.part;
  }
  const rowBytes = up(at, inRow[0]?.alignment === 16 ? 16 : 8);
  let stagedBytes = up(rowBytes, 16);
  for (const leaf of leaves) {
    if (leaf.kind === NARROW) continue;
    leaf.staged = stagedBytes;
    stagedBytes = up(stagedBytes + leaf.bytes, 16);
  }
  return { leaves, rowBytes, stagedBytes, pools };
}
function up(n, multiple) {
  return Math.ceil(n / multiple) * multiple;
}
function share(pools, name, frameBytes, path) {
  const pool = pools.find((known) => known.name === name);
  if (pool === void 0) pools.push({ name, frameBytes });
  else if (pool.frameBytes !== frameBytes)
    throw mustBe("SPEC_MISMATCH", `a frame of ${path}`, `${pool.frameBytes} bytes, as others shared as ${show(name)}`, frameBytes);
}

// src/numbers.ts
function priorityError(subject, value) {
  return mustBe(RangeError, subject, "a finite number >= 0 (and its weight at most 2^990)", value);
}
function isList(value) {
  return Array.isArray(value) || ArrayBuffer.isView(value);
}
function lengthOf(subject, numbers, n = numbers?.length) {
  if (!isList(numbers) || kindOf(numbers)?.startsWith("Big")) throw mustBe(TypeError, subject, "an array of numbers", numbers);
  if (numbers.length !== n) throw mustBe(RangeError, subject, `${n} numbers, one for each`, numbers);
  return n;
}
function copyIn(to, at, subject, from, n) {
  lengthOf(subject, from, n);
  const wrong = Array.isArray(from) ? from.findIndex((value) => typeof value !== "number") : -1;
  if (wrong >= 0) throw mustBe(TypeError, `${subject}[${wrong}]`, "a number", from[wrong]);
  to.set(from, at);
}

// src/spec.ts
function of(dtype) {
  return (...shape) => ({ dtype, shape });
}
var bool = of("bool");
var i8 = of("i8");
var u8 = of("u8");
var i16 = of("i16");
var u16 = of("u16");
var i32 = of("i32");
var u32 = of("u32");
var i64 = of("i64");
var u64 = of("u64");
var f32 = of("f32");
var f64 = of("f64");
function isLeaf(spec) {
  return typeof spec.dtype === "string";
}
function named(keys) {
  return keys.join(".") || "step";
}
function sizeOf(shape) {
  return shape.reduce((product, n) => product * n, 1);
}
function fold(spec, leaf, node) {
  let index = 0;
  const visit = (at, keys) => {
    if (typeof at !== "object" || at === null) throw mustBe(TypeError, `spec of ${named(keys)}`, "a leaf {dtype, shape}, an object or an array", at);
    if (isLeaf(at)) return leaf(index++, keys, at);
    const list = Array.isArray(at);
    const names = list ? Object.keys(at) : Object.keys(at).sort();
    const parts = names.map((name) => visit(at[name], [...keys, name]));
    return node(names, parts, keys, list);
  };
  return visit(spec, []);
}
function leavesOf(spec) {
  const found3 = [];
  fold(
    spec,
    (_, keys, leaf) => {
      found3.push(checked(keys, leaf));
    },
    (names, _, keys) => {
      for (const name of names) if (name.includes(".")) throw mustBe(RangeError, `keys of ${named(keys)}`, "free of dots", name);
    }
  );
  integer("leaves in spec", found3.length, 1, 4096);
  return found3;
}
function checked(keys, leaf) {
  const path = named(keys);
  const { dtype, shape: own, stack, shared } = leaf;
  oneOf(`dtype of ${path}`, DTYPES, dtype);
  if (!Array.isArray(own)) throw mustBe(TypeError, `shape of ${path}`, "an array of integers >= 1", own);
  for (const n of own) integer(`shape of ${path}`, n, 1, 2147483647);
  if (stack !== void 0) {
    integer(`stack of ${path}`, stack, 1, 1024);
    if (shared === void 0) throw new RangeError(`${path} has a stack and must be shared(name, leaf, stack)`);
  }
  const shape = stack === void 0 ? own : [stack, ...own];
  const size = sizeOf(shape);
  integer(`bytes of ${path}`, size * DTYPES[dtype].bytes, 1, 1073741823);
  return { path: keys.join("."), keys, leaf, size, shape };
}
function visitor(spec, leaf) {
  return fold(spec, leaf, visitNode);
}
function visitNode(names, parts, keys) {
  const n = names.length;
  const [k0, k1, k2, k3, k4, k5] = names;
  const [v0, v1, v2, v3, v4, v5] = parts;
  return (value) => {
    let seen2 = 0;
    if (typeof value === "object") for (const _ in value) seen2++;
    if (seen2 !== n) throw mustBe("SPEC_MISMATCH", named(keys), `nested with keys ${names.join(", ")}`, value);
    const node = value;
    if (n > 0) v0(node[k0]);
    if (n > 1) v1(node[k1]);
    if (n > 2) v2(node[k2]);
    if (n > 3) v3(node[k3]);
    if (n > 4) v4(node[k4]);
    if (n > 5) v5(node[k5]);
    for (let i = 6; i < n; i++) parts[i](node[names[i]]);
  };
}
function flattener(spec) {
  let values = [];
  const visit = visitor(spec, (index, keys) => (value) => {
    if (value === void 0) throw mustBe("SPEC_MISMATCH", named(keys), "given", value);
    values[index] = value;
  });
  return (value) => {
    values = [];
    visit(value);
    return values;
  };
}
function pack(spec, values) {
  return fold(
    spec,
    (index) => values[index],
    (names, parts, _, list) => list ? parts : Object.fromEntries(names.map((name, i) => [name, parts[i]]))
  );
}

// src/fill.ts
var SHORT = 16;
function formOf(leaf, lead) {
  const shape = [...lead, ...leaf.shape];
  return { leaf, shape, size: sizeOf(shape) };
}
function put({ leaf, shape, size }, to, at, value) {
  const { dtype } = leaf.leaf;
  let next = at;
  const spread = (part3, depth, size2) => {
    if (depth === shape.length) putNumber(leaf, to, next++, part3);
    else {
      if (!isList(part3)) return false;
      const { length } = part3;
      const flat = length === size2 && !isList(part3[0]);
      if (!flat && length !== shape[depth]) return false;
      for (let i = 0; i < length; i++) if (!spread(part3[i], flat ? shape.length : depth + 1, size2 / length)) return false;
    }
    return true;
  };
  const kind = kindOf(value);
  if (kind === DTYPES[dtype].array.name && value.length === size) to.set(value, at);
  else if (kind !== void 0 || !spread(value, 0, size)) throw mustBe("SPEC_MISMATCH", named(leaf.keys), `${dtype} of shape [${shape.join(", ")}]`, value);
}
function putNumber({ leaf: { dtype }, keys }, to, at, value) {
  const { array, least, most } = DTYPES[dtype];
  const wide = array.name.startsWith("Big");
  const number = wide && Number.isSafeInteger(value) ? BigInt(value) : dtype === "bool" && typeof value === "boolean" ? Number(value) : value;
  const known = typeof number === (wide ? "bigint" : "number");
  if (known) {
    to[at] = number;
    if (dtype.startsWith("f") || to[at] === number && !(number > most)) return;
  }
  const rule = wide ? "a bigint or a safe integer" : least === void 0 ? "a number" : `an integer in ${least} \u2026 ${most}`;
  throw mustBe(known ? "INVALID_DATA" : "SPEC_MISMATCH", named(keys), `${dtype}, ${rule}`, value);
}
function putter(place) {
  const { leaf, shape, size } = place;
  const { dtype } = leaf.leaf;
  const { array, most } = DTYPES[dtype];
  const slow2 = (value) => put(place, place.view, 0, value);
  if (shape.length === 0 && dtype.startsWith("f")) {
    return (value) => {
      if (typeof value === "number") place.view[0] = value;
      else slow2(value);
    };
  }
  if (shape.length === 0 && dtype === "i32") {
    return (value) => {
      if (typeof value === "number" && (value | 0) === value) place.view[0] = value;
      else slow2(value);
    };
  }
  if (shape.length === 0 && most !== void 0) {
    return (value) => {
      const { view } = place;
      const number = typeof value === "boolean" && dtype === "bool" ? +value : value;
      if (typeof number === "number") view[0] = number;
      if (view[0] !== number || number > most) slow2(value);
    };
  }
  return (value) => {
    const from = value;
    const { view } = place;
    if (!(value instanceof array) || from.length !== size) slow2(value);
    else if (size > SHORT) view.set(from);
    else for (let i = 0; i < size; i++) view[i] = from[i];
  };
}

// src/staged.ts
function stepMaker(spec, leaves, scalars) {
  const whole2 = fold(
    spec,
    (index) => scalars && leaves[index]?.shape.length === 0 ? Step.number(leaves[index]) : Step.array(index),
    (names, parts, _, list) => nodeMaker(names, parts, list)
  );
  return typeof whole2 === "function" ? whole2 : nodeMaker(["value"], [whole2], false);
}
var Step = class {
  #staging;
  constructor(staging) {
    this.#staging = staging;
  }
  /** What reads and assigns a leaf that is a number. */
  static number({ index, leaf: { dtype }, staged }) {
    const at = staged / 4;
    if (dtype === "f32") {
      return {
        get() {
          return this.#staging.f32[at];
        },
        set(value) {
          this.#staging.f32[at] = value;
        }
      };
    }
    if (dtype === "i32") {
      return {
        get() {
          return this.#staging.i32[at];
        },
        set(value) {
          this.#staging.i32[at] = value;
        }
      };
    }
    return {
      get() {
        return this.#staging.view(index)[0];
      },
      set(value) {
        this.#staging.view(index)[0] = value;
      }
    };
  }
  /** What lends the array of a leaf, and fills it. */
  static array(index) {
    return {
      get() {
        return this.#staging.lend(index);
      },
      set(value) {
        this.#staging.puts[index](value);
      }
    };
  }
};
function nodeMaker(names, parts, list) {
  const Node = class extends Step {
  };
  return (staging) => {
    const step = new Node(staging);
    const made2 = list ? [] : step;
    names.forEach((name, i) => {
      const part3 = parts[i];
      const of2 = typeof part3 === "function" ? { value: part3(staging) } : list ? { get: part3.get?.bind(step), set: part3.set?.bind(step) } : part3;
      Object.defineProperty(made2, name, { enumerable: true, ...of2 });
    });
    return Object.freeze(made2);
  };
}
var CLOSED = new Proxy({}, { get: refuse, set: refuse });
function refuse() {
  throw writerClosed();
}
var Staging = class {
  #core;
  #at;
  #slots;
  /** How often memory has moved. */
  #moves = 0;
  /** The count when all arrays that were lent were good. */
  #checked = 0;
  /**
   * @param at where the record begins
   * @param addresses where each leaf begins
   * @param lead the first dimension of values: none where there is one lane
   */
  constructor(core, maker, at, leaves, addresses, lead) {
    this.#core = core;
    this.#at = at;
    this.#slots = leaves.map((leaf, i) => ({ ...formOf(leaf, lead), address: addresses[i], view: new Float32Array(), lent: void 0 }));
    this.puts = this.#slots.map(putter);
    this.moved();
    this.step = maker(this);
    core.lookers.add(this);
  }
  /** Before an append: arrays that were read before memory moved are void, and what was written to them is lost. */
  check() {
    if (this.#checked === this.#moves) return;
    for (const { lent = this.#moves, leaf } of this.#slots) {
      if (lent < this.#moves) throw new ReplayError("OUT_OF_TURN", `staged.${named(leaf.keys)} is void since memory grew: read it again`);
    }
    this.#checked = this.#moves;
  }
  /** The memory is no longer this writer's. */
  close() {
    this.#core.lookers.delete(this);
    this.f32 = CLOSED;
    this.i32 = CLOSED;
    this.puts = CLOSED;
    this.#slots = CLOSED;
  }
  /** The elements of leaf i. */
  view(i) {
    return this.#slots[i].view;
  }
  /** The same, for a user to keep until memory moves. */
  lend(i) {
    const slot = this.#slots[i];
    slot.lent = this.#moves;
    return slot.view;
  }
  /** Memory has moved. */
  moved() {
    const { buffer } = this.#core.u8;
    this.#moves++;
    this.f32 = new Float32Array(buffer, this.#at);
    this.i32 = new Int32Array(buffer, this.#at);
    for (const slot of this.#slots) slot.view = new DTYPES[slot.leaf.leaf.dtype].array(buffer, slot.address, slot.size);
  }
};
function writerClosed() {
  return new ReplayError("CLOSED", "this writer was closed: make a new one with replay.writer()");
}

// src/wait.ts
var MOST_MS = 2147483647;
var Waiters = class {
  #waiting = /* @__PURE__ */ new Set();
  #waking = false;
  #again = false;
  /** Tries all that wait, in the order in which they came; again, where what one did may help another. */
  wake() {
    if (this.#waiting.size === 0) return;
    this.#again = true;
    if (this.#waking) return;
    this.#waking = true;
    while (this.#again) {
      this.#again = false;
      for (const waiter of this.#waiting) waiter.attempt();
    }
    this.#waking = false;
  }
  rejectAll(reason) {
    for (const waiter of this.#waiting) waiter.reject(reason);
  }
  /**
   * What `attempt` gives, at once where it is not `undefined`, else as a promise.
   * @param what for the time-out's message
   */
  until(attempt, what, options = {}) {
    const { signal, timeoutMs } = options;
    if (timeoutMs !== void 0) finite("timeoutMs", timeoutMs, 0, MOST_MS);
    signal?.throwIfAborted();
    const first = attempt();
    if (first !== void 0) return first;
    const promise = new Promise((resolve, reject) => {
      const ends = (settle) => (value) => {
        this.#waiting.delete(waiter);
        clearTimeout(timer);
        signal?.removeEventListener("abort", aborted);
        settle(value);
      };
      const done = ends(resolve);
      const waiter = {
        attempt() {
          try {
            const result = attempt();
            if (result !== void 0) done(result);
          } catch (error) {
            waiter.reject(error);
          }
        },
        reject: ends(reject)
      };
      const aborted = () => waiter.reject(signal?.reason);
      const late = () => waiter.reject(new ReplayError("TIMEOUT", `${what()} was not possible within ${timeoutMs} ms`));
      const timer = timeoutMs === void 0 ? void 0 : setTimeout(late, timeoutMs);
      signal?.addEventListener("abort", aborted);
      this.#waiting.add(waiter);
    });
    promise.catch(() => {
    });
    return promise;
  }
};

// src/engine.ts
var MAX_SHAPES = 64;
var Engine = class {
  constructor(spec, layout, maxBytes, module) {
    this.waiters = new Waiters();
    /** Shapes of items, by number. */
    this.shapes = [];
    /** Raised by every call that changes something: whoever reads over several calls sees that it must not go on. */
    this.changes = 0;
    this.closed = false;
    /** Staging records of closed writers, by size. */
    this.#spare = /* @__PURE__ */ new Map();
    this.spec = spec;
    this.layout = layout;
    this.makeStep = stepMaker(spec, layout.leaves, true);
    this.makeLanes = stepMaker(spec, layout.leaves, false);
    this.core = new Core(maxBytes, module);
    const { x } = this.core;
    const { leaves, pools, rowBytes } = layout;
    this.framePools = pools.map(({ frameBytes }) => this.#pool(up(frameBytes, 8), 1, (pool) => x.pool_leaf(pool, 0, 0, 0, frameBytes, 0, 0, 1, 0)));
    this.pool = this.#pool(rowBytes, leaves.length, (pool) => {
      for (const { index, kind, leaf, bytes, frameBytes, offset, staged } of leaves) {
        const shared = this.framePools[pools.findIndex(({ name }) => name === leaf.shared)] ?? 0;
        x.pool_leaf(pool, index, kind, DTYPES[leaf.dtype].code, frameBytes, offset, staged, bytes / frameBytes, shared);
      }
    });
  }
  #spare;
  /** Every public call begins here. */
  open() {
    if (this.closed) throw disposed();
  }
  dispose() {
    this.closed = true;
    this.waiters.rejectAll(disposed());
  }
  /** A zeroed staging record. */
  stage(bytes) {
    const at = this.#spare.get(bytes)?.pop();
    if (at === void 0) return this.core.alloc(bytes);
    this.core.u8.fill(0, at, at + bytes);
    return at;
  }
  /** Keeps a staging record for the next writer. It never becomes anything else: its user may still hold arrays that look at it. */
  unstage(at, bytes) {
    if (at !== 0) this.#spare.set(bytes, [...this.#spare.get(bytes) ?? [], at]);
  }
  /** The number of an item shape, the same for equal columns. */
  shapeOf(columns) {
    const text = JSON.stringify(columns);
    const known = this.shapes.findIndex((shape) => shape.columns === text);
    if (known >= 0) return known + 1;
    if (this.shapes.length + 1 >= MAX_SHAPES) throw mustBe("UNSUPPORTED", "columns", `one of at most ${MAX_SHAPES - 1} different sets in a Replay`, columns);
    this.shapes.push({ columns: text, selections: selectionsOf(columns, this.layout.leaves) });
    return this.shapes.length;
  }
  /** After calls that may have taken memory, or let items in. */
  changed() {
    this.changes++;
    if (this.core.u8.length === 0) this.core.refresh();
    this.waiters.wake();
    this.journal?.();
  }
  /** A pool whose leaves are set up by `place`. */
  #pool(rowBytes, leaves, place) {
    const { x } = this.core;
    const pool = this.core.alloc(x.pool_bytes(leaves));
    x.pool_init(pool, rowBytes, leaves);
    place(pool);
    x.pool_open(pool);
    return pool;
  }
};
function disposed() {
  return new ReplayError("CLOSED", "this Replay was disposed of: make a new one");
}

// src/batch.ts
var INFO = {
  keys: KEY,
  probabilities: PROBABILITY,
  priorities: PRIORITY,
  timesSampled: TIMES_SAMPLED,
  tableSizes: TABLE_SIZE
};
var N_STEP = { returns: RETURN, discounts: DISCOUNT, steps: STEPS, terminated: TERMINATED, truncated: TRUNCATED };
function arrayOf(column) {
  return column < 8 ? Float64Array : column < TERMINATED ? Uint32Array : Uint8Array;
}

// src/filler.ts
var WEIGHTS = 1;
var RETURNS = 2;
var MASK = 4;
var Filler = class {
  #engine;
  #outputs = [];
  #copies = [];
  /** Rows that the longest column may have. */
  #rows;
  /** Bytes of scratch for what is copied; the draw is behind it. */
  #bytes = 0;
  #base = 0;
  #generation = -1;
  /**
   * @param whole whether the batch is nested as the spec
   * @param asked what it must hold, as bits
   * @param into the batch; without it a new one is made
   * @throws ReplayError SPEC_MISMATCH where the batch has no array for something, or too small a one
   */
  constructor(engine, n, width, selections, whole2, asked, into) {
    this.#engine = engine;
    this.n = n;
    this.width = width;
    this.selections = selections;
    this.holds = asked | (into?.mask ? MASK : 0);
    const take = (path, given, array, each, from) => {
      const target = into === void 0 ? new array(n * each) : given;
      if (!(target instanceof array && target.length >= n * each))
        throw mustBe("SPEC_MISMATCH", `into.${path}`, `a ${array.name} of at least ${n * each}`, target);
      if (from !== void 0) this.#copies.push({ target, array, each, from, view: target });
      return target;
    };
    let rows = width;
    let steps = [];
    const columns = selections.map((selection) => {
      const { keys, leaf, squeezed: squeezed2, start } = selection;
      const own = stepsOf(selection, width);
      const count = own.length;
      const again = count === steps.length && own.every((step, k) => step === steps[k]);
      steps = own;
      const from = this.#bytes;
      const isStraight = leaf.kind === WIDE;
      const { array } = DTYPES[leaf.leaf.dtype];
      const data = take(`steps.${keys.join(".")}.data`, reach(into?.steps, keys)?.data, array, count * leaf.size, isStraight ? void 0 : from);
      const straight = isStraight ? new Uint8Array(data.buffer, data.byteOffset, n * count * leaf.bytes) : void 0;
      const most = Math.max(count, -start);
      rows = Math.max(rows, most);
      this.#bytes += up(most * Math.max(n * (isStraight ? 8 : leaf.bytes), 4), 16);
      this.#outputs.push({ leaf, steps, again, from, straight });
      return { data, shape: [n, ...squeezed2 ? [] : [count], ...leaf.shape] };
    });
    this.#rows = n * rows;
    const part3 = (name, names) => {
      const given = into?.[name];
      return Object.fromEntries(Object.entries(names).map(([key, column]) => [key, take(`${name}.${key}`, given?.[key], arrayOf(column), 1, -1 - column)]));
    };
    const made2 = {
      count: 0,
      steps: whole2 ? pack(engine.spec, columns) : Object.fromEntries(columns.map((column, i) => [selections[i]?.keys[0], column])),
      lengths: take("lengths", into?.lengths, Uint32Array, 1, -1 - LENGTH),
      info: part3("info", this.holds & WEIGHTS ? { ...INFO, weights: WEIGHT } : INFO),
      nStep: this.holds & RETURNS ? part3("nStep", N_STEP) : void 0,
      mask: this.holds & MASK ? take("mask", into?.mask, Uint8Array, width) : void 0,
      blocked: void 0
    };
    this.batch = into ?? made2;
  }
  /** Makes a draw in scratch memory. What could find no room does so here, before the table changes. */
  prepare() {
    const { core } = this.#engine;
    const { x } = core;
    const base = core.scratch(this.#bytes + (x.draw_bytes(this.n) >>> 0) + 12 * this.#rows);
    const draw = base + this.#bytes;
    x.draw_init(draw, this.n, this.#rows);
    this.#base = base;
    if (this.#generation !== core.generation) this.#look(draw);
    this.#generation = core.generation;
    return draw;
  }
  /** Takes over the draw of a filler for more items. */
  after(other, draw) {
    this.#base = other.#base;
    this.#look(draw);
    return this;
  }
  #look(draw) {
    const { core } = this.#engine;
    for (const copy of this.#copies) {
      const at = copy.from < 0 ? core.x.draw_column(draw, -1 - copy.from) >>> 0 : this.#base + copy.from;
      copy.view = new copy.array(core.u8.buffer, at, this.n * copy.each);
    }
  }
  /** Gathers what was drawn and copies it out. O(bytes) */
  fill(draw, count) {
    const { core, pool } = this.#engine;
    const { x } = core;
    const outputs = this.#outputs;
    const copies = this.#copies;
    for (let i = 0; i < outputs.length; i++) {
      const { leaf, steps, again, from, straight } = outputs[i];
      const at = this.#base + from;
      if (!again) {
        core.i32.set(steps, at / 4);
        x.gather_select(draw, pool, at, steps.length);
      }
      if (straight === void 0) x.gather_leaf(draw, pool, leaf.index, at);
      else this.#copyStraight(at, x.gather_runs(draw, pool, leaf.index, at), leaf.bytes, straight);
    }
    for (let i = 0; i < copies.length; i++) {
      const { target, view, each } = copies[i];
      target.set(count === this.n ? view : view.subarray(0, count * each));
    }
    const { mask, lengths } = this.batch;
    if (mask !== void 0) for (let i = 0, to = 0; i < count; i++) for (let t = 0; t < this.width; t++) mask[to++] = Number(t < lengths[i]);
    this.batch.count = count;
  }
  /** Copies runs of wide values, each (address, how many), without a stop on the way. */
  #copyStraight(at, runs, bytes, target) {
    const { u8: u82, u32: u322 } = this.#engine.core;
    let to = 0;
    for (let i = at >>> 2; i < (at >>> 2) + 2 * runs; i += 2) {
      const address = u322[i];
      const length = u322[i + 1] * bytes;
      if (address === 0) target.fill(0, to, to + length);
      else target.set(u82.subarray(address, address + length), to);
      to += length;
    }
  }
};
function reach(steps, keys) {
  return keys.reduce((at, key) => at?.[key], steps);
}

// src/selector.ts
var KINDS = { fifo: 1, lifo: 2, uniform: 3, prioritized: 4, minHeap: 5, maxHeap: 6 };
var WITH_MIN = 16;
var TOGETHER = 32;
var fifo = () => ({ kind: "fifo" });
var uniform = () => ({ kind: "uniform" });
function kindsOf(sampler, remover) {
  const [drawn, left] = [KINDS[sampler.kind], KINDS[remover.kind]];
  const together = Math.max(drawn, left) <= KINDS.lifo || drawn === left && sampler.exponent === remover.exponent;
  return { sampler: drawn + (sampler.withMin ? WITH_MIN : 0), remover: left + (together ? TOGETHER : remover.withMin ? WITH_MIN : 0) };
}
function isSelector(value) {
  const { kind, exponent = 1 } = value ?? {};
  return Object.hasOwn(KINDS, kind) && Number.isFinite(exponent);
}

// src/plan.ts
var OVERHEAD = 192 * 1024;
var WINDOW = 32;
function planOf(layout, tables, module) {
  const { x } = new Core(1 << 20, module);
  const wide = layout.leaves.filter((leaf) => leaf.kind === WIDE).reduce((sum, leaf) => sum + leaf.bytes, 0);
  const frames = layout.pools.map(({ frameBytes }) => HEAD_BYTES + up(frameBytes, 8));
  const rowBytes = HEAD_BYTES + layout.rowBytes + wide;
  const planned = {};
  let steps = 0;
  let bytes = OVERHEAD;
  for (const [name, options] of Object.entries(tables)) {
    const { maxSize, maxPending, sampler, remover, maxSteps } = options;
    const kinds = kindsOf(sampler, remover);
    const own = x.table_bytes(maxSize, maxPending, kinds.sampler, kinds.remover);
    const twice = x.table_bytes(2 * maxSize, maxPending, kinds.sampler, kinds.remover);
    planned[name] = { bytes: own, bytesPerItem: (twice - own) / maxSize };
    bytes += own;
    steps = Math.max(steps, Math.min(maxSize, maxSteps));
  }
  let bytesPerStep = 0;
  for (const each of [rowBytes, ...frames]) {
    bytes += blocksOf(steps + WINDOW, each);
    bytesPerStep += each;
  }
  return { bytesPerStep, tables: planned, steps, bytes };
}
function blocksOf(rows, each) {
  const block = Math.min(Math.max(Math.floor(65520 / each), 1), 1024);
  return Math.ceil(rows / block) * up(block * each + 16, 4096);
}

// src/dataset.ts
function datasetOf(table, options) {
  const { batchSize, signal, timeoutMs, prefetch = 0, ...sample } = options;
  const n = integer("batchSize", batchSize, 1, 16777215);
  const ahead = options.into === void 0 ? integer("prefetch", prefetch, 0, 1024) : 0;
  const next = async (stop) => {
    try {
      return await table.sampleWhenReady(n, { ...sample, timeoutMs, signal: stop });
    } catch (error) {
      if (error.code === "TIMEOUT") return void 0;
      throw error;
    }
  };
  return {
    *[Symbol.iterator]() {
      while (table.ready(n, sample)) {
        signal?.throwIfAborted();
        const batch = table.sample(n, sample);
        if (batch.count !== 0) yield batch;
        if (batch.count < n) return;
      }
    },
    async *[Symbol.asyncIterator]() {
      const under = [];
      const stop = new AbortController();
      const forward = () => stop.abort(signal?.reason);
      signal?.throwIfAborted();
      signal?.addEventListener("abort", forward);
      try {
        for (; ; ) {
          while (under.length <= ahead) {
            const promise = next(stop.signal);
            promise.catch(() => {
            });
            under.push(promise);
          }
          const batch = await under.shift();
          if (batch === void 0) return;
          yield batch;
        }
      } finally {
        signal?.removeEventListener("abort", forward);
        stop.abort();
      }
    }
  };
}

// src/n-step.ts
var NO_LEAF = 65535;
function nStepOf(options, leaves) {
  const { n, gamma, reward, discount, terminal, nextState = "following" } = onlyKeys("nStep", options, "n, gamma, reward, discount, terminal, nextState");
  if (discount !== void 0 && terminal !== void 0) throw mustBe(RangeError, "nStep", "of either discount or terminal", options);
  const leaf = (role, path) => {
    const found3 = leafAt(`nStep.${role}`, leaves, path);
    if (found3.size === 1 && found3.leaf.shared === void 0) return found3.index;
    throw mustBe("SPEC_MISMATCH", `nStep.${role}`, "a leaf of one number a step", path);
  };
  const ends = discount !== void 0 ? leaf("discount", discount) : terminal !== void 0 ? leaf("terminal", terminal) : NO_LEAF;
  return {
    leaves: leaf("reward", reward) + 65536 * ends,
    n: integer("nStep.n", n, 1, 16777215),
    gamma: finite("nStep.gamma", gamma),
    flags: oneOf("nStep.nextState", { following: 0, own: 1 }, nextState) + (terminal === void 0 ? 0 : 2)
  };
}

// src/reader.ts
var OPTIONS = "into, replacement, among, stratified, length, offset, cross, columns, nStep, mask, beta, normalize";
var OFFSETS = { start: 0, end: 1, uniform: 2 };
var NORMALIZE = { none: 0, batch: 1, table: 2 };
var BLOCKED_BY = ["", "minSize", "samplesPerInsert", "items"];
var MOST3 = 16777215;
var Reader = class {
  #engine;
  #table;
  #fillers = /* @__PURE__ */ new WeakMap();
  #selections = /* @__PURE__ */ new WeakMap();
  #whole;
  constructor(engine, table) {
    this.#engine = engine;
    this.#table = table;
    this.#whole = wholeOf(engine.layout.leaves);
  }
  /** Up to n items, drawn and gathered. */
  sample(n, options = {}) {
    const engine = this.#engine;
    const { x } = engine.core;
    const table = this.#table;
    const { into, beta, among = 0, replacement = true, stratified = false, cross = false } = onlyKeys("options", options, OPTIONS);
    const { length, columns, offset = "start", normalize = "batch" } = options;
    integer("n", n, 1, MOST3);
    integer("among", among, 0, 4294967295);
    if (beta !== void 0 && !Number.isFinite(beta)) finite("beta", beta);
    if (length !== void 0) integer("length", length, 1, MOST3);
    const flags = DISTINCT * (1 - flag("replacement", replacement)) + STRATIFIED * flag("stratified", stratified);
    const from = oneOf("offset", OFFSETS, offset);
    const divisor = oneOf("normalize", NORMALIZE, normalize);
    const nStep = options.nStep === void 0 ? void 0 : nStepOf(options.nStep, engine.layout.leaves);
    const chosen = this.#selected(columns, x.table_counter(table, SHAPE));
    const selections = chosen ?? this.#any(n === 1 && into === void 0);
    if (nStep === void 0 && chosen?.some(isBootstrap)) throw new RangeError('columns with at: "bootstrap" must have nStep, got none');
    const over = flag("cross", cross);
    const longest = length ?? (into === void 0 ? x.table_counter(table, LONGEST) : this.#widthOf(into, selections));
    let filler = this.#filler(n, longest, options, selections, into);
    const draw = filler.prepare();
    const count = x.table_sample(table, draw, n, flags, among);
    if (count < 0) throw new ReplayError("UNSUPPORTED", engine.core.i32[ERROR_ARGUMENT] === 3 ? NO_STRATA : NO_AMONG);
    try {
      if (into === void 0) {
        const width = length ?? x.draw_result(draw, DRAW_LONGEST);
        const shown = count === 0 ? selections : this.#selected(columns, x.draw_result(draw, DRAW_SHAPE));
        if (count < n || width < longest || shown !== selections) filler = this.#filler(count, width, options, shown).after(filler, draw);
      }
      if (beta !== void 0) x.table_weights(table, draw, beta, divisor);
      x.draw_window(draw, table, filler.width, from, over);
      if (nStep !== void 0) x.draw_n_step(draw, engine.pool, nStep.leaves, nStep.n, nStep.gamma, nStep.flags);
      filler.fill(draw, count);
      const { batch } = filler;
      batch.blocked = count === n ? void 0 : { by: BLOCKED_BY[x.draw_result(draw, BLOCKED)], have: x.draw_result(draw, HAVE), need: x.draw_result(draw, NEED) };
      return batch;
    } finally {
      x.table_settle(table);
      engine.changed();
    }
  }
  /** New arrays for n items, as `into`. */
  batch(n, options) {
    const { length, columns } = onlyKeys("options", options, OPTIONS);
    const selections = this.#selected(columns, this.#engine.core.x.table_counter(this.#table, SHAPE)) ?? this.#any(false);
    return this.#filler(integer("n", n, 1, MOST3), integer("length", length, 1, MOST3), options, selections).batch;
  }
  /** How a batch is filled: the one that was given, or a new one. */
  #filler(n, width, options, selections, into) {
    const { beta, nStep, mask } = options;
    const asked = (beta === void 0 ? 0 : WEIGHTS) + (nStep === void 0 ? 0 : RETURNS) + MASK * flag("mask", mask ?? false);
    const known = into && this.#fillers.get(into);
    if (known?.n === n && known.selections === selections && known.width === width && (known.holds | MASK) === (asked | MASK) && known.holds >= asked)
      return known;
    const made2 = new Filler(this.#engine, n, width, selections, selections === this.#whole, asked, into);
    this.#fillers.set(made2.batch, made2);
    return made2;
  }
  /** Steps of a window in a batch that was given. */
  #widthOf(into, selections) {
    const { keys } = selections[0];
    return this.#fillers.get(into)?.width ?? integer("length, given or of into,", selections === this.#whole ? reach(into?.steps, keys)?.shape?.[1] : 0, 1, MOST3);
  }
  /** The columns that were asked for, or else those that items of a shape were created with; undefined where there are several shapes. */
  #selected(columns, shape) {
    const { layout, shapes } = this.#engine;
    if (columns === void 0) return shape === 0 ? this.#whole : shapes[shape - 1]?.selections;
    const known = this.#selections.get(columns);
    if (known !== void 0) return known;
    const made2 = selectionsOf(columns, layout.leaves);
    this.#selections.set(columns, made2);
    return made2;
  }
  /** Room for one item of any shape. */
  #any(one) {
    const every = [this.#whole, ...this.#engine.shapes.map((shape) => shape.selections)].flat();
    if (one) return every.map((selection, i) => ({ ...selection, keys: [`${i}`] }));
    throw new ReplayError("SPEC_MISMATCH", "these items have different columns: give options.columns, or draw one at a time");
  }
};
var NO_STRATA = "stratified must have a uniform or prioritized sampler, replacement and no maxTimesSampled";
var NO_AMONG = "among must be more: this sampler does not know so few of the oldest";
function isBootstrap(selection) {
  return selection.steps?.[0] === BOOTSTRAP;
}

// src/table.ts
var Table = class {
  #engine;
  #reader;
  /** Tables are made by `new Replay`. */
  constructor(engine, name, options, handle) {
    this.#engine = engine;
    this.name = name;
    this.options = options;
    this.handle = handle;
    this.#reader = new Reader(engine, handle);
  }
  /** Items in the table. */
  get size() {
    return this.#x().table_counter(this.handle, 0);
  }
  /**
   * Draws up to n items and gathers their steps. Never waits: the batch is shorter, and `blocked` says why, where the rate limiter or the number of items allows fewer.
   * With `into`, and the same `columns` object each time, nothing is allocated. O(n log size + bytes)
   */
  sample(n, options) {
    this.#engine.open();
    const { sampler } = this.options;
    if (options?.normalize === "table" && sampler.kind === "prioritized" && sampler.withMin !== true) {
      throw mustBe("UNSUPPORTED", "the sampler", "prioritized(exponent, { withMin: true }) for this normalize", "table");
    }
    return this.#reader.sample(n, options);
  }
  /**
   * `sample`, once the rate limiter lets n draws pass.
   * @throws RangeError where it never will · ReplayError TIMEOUT, or the signal's reason
   */
  async sampleWhenReady(n, options) {
    this.#engine.open();
    integer("n", n, 1, 16777215);
    const { signal, timeoutMs, ...rest } = options ?? {};
    this.#couldSample(n, rest.replacement);
    const attempt = () => this.ready(n, rest) ? this.sample(n, rest) : void 0;
    return this.#engine.waiters.until(attempt, () => `sampling ${n} items of ${show(this.name)}`, { signal, timeoutMs });
  }
  /** Batches one after the other, for `for` and `for await`. */
  dataset(options) {
    this.#engine.open();
    return datasetOf(this, options);
  }
  /** New arrays for batches of n items with `length` steps each, to be given as `into`. */
  batch(n, options) {
    this.#engine.open();
    return this.#reader.batch(n, options);
  }
  /**
   * Sets the priorities of items by key; a key whose item is gone is skipped. Of a key that comes twice the last one counts. O(n log size)
   * @returns how many were there
   */
  updatePriorities(keys, priorities) {
    const x = this.#x();
    const { core } = this.#engine;
    const n = lengthOf("keys", keys);
    const at = core.scratch(24 * n);
    copyIn(core.f64, at >>> 3, "keys", keys, n);
    copyIn(core.f64, (at >>> 3) + n, "priorities", priorities, n);
    const found3 = x.table_update(this.handle, at, at + 8 * n, n, at + 16 * n, at + 20 * n);
    if (found3 < 0) throw priorityError(`priorities[${core.i32[ERROR_ARGUMENT]}]`, core.f64[ERROR_VALUE]);
    this.#engine.changed();
    return found3;
  }
  /** Deletes items by key; a key whose item is gone is skipped. O(n log size) @returns how many were there */
  delete(keys) {
    const x = this.#x();
    const { core } = this.#engine;
    const n = lengthOf("keys", keys);
    const at = core.scratch(8 * n);
    copyIn(core.f64, at >>> 3, "keys", keys, n);
    const found3 = x.table_delete(this.handle, at, n);
    this.#engine.changed();
    return found3;
  }
  /** Drops every item and sets all counters to 0; then those come in that waited. Keys are not used again. O(size log size) */
  clear() {
    this.#x().table_clear(this.handle);
    this.#engine.changed();
  }
  /** Whether a batch of n can be had now: the rate limiter lets it pass, and there are items enough where they must differ or are used up. */
  ready(n, options = {}) {
    const items = options.replacement === false ? Math.min(this.size, options.among || this.size) : this.size * this.options.maxTimesSampled;
    return this.canSample(n) && items >= n;
  }
  /** Whether the rate limiter would let n samples pass now. */
  canSample(n = 1) {
    return this.#x().table_can_sample(this.handle, integer("n", n, 1)) !== 0;
  }
  /** Whether the rate limiter would let n inserts pass now. */
  canInsert(n = 1) {
    return this.#x().table_can_insert(this.handle, integer("n", n, 1)) !== 0;
  }
  stats() {
    const counters = Object.fromEntries(COUNTERS.map((name, i) => [name, this.#x().table_counter(this.handle, i)]));
    return { name: this.name, maxSize: this.options.maxSize, ...counters };
  }
  /** What became of an item. O(1) */
  explain(key) {
    const x = this.#x();
    const { core } = this.#engine;
    if (typeof key !== "number") throw mustBe(TypeError, "key", "a number", key);
    const at = core.scratch(48);
    if (x.table_item(this.handle, key, at) === 0) return { key, state: "gone" };
    const [, length, timesSampled, waits, priority, probability] = core.f64.subarray(at / 8);
    return { key, state: waits === 1 ? "waiting" : "live", length, timesSampled, priority, probability };
  }
  /** The core's functions, as long as the Replay is open. */
  #x() {
    this.#engine.open();
    return this.#engine.core.x;
  }
  /** Refuses to wait for what cannot come. */
  #couldSample(n, replacement) {
    const { maxSize, maxTimesSampled, rateLimiter } = this.options;
    const { minSize: minSize2, minDiff, maxDiff, samplesPerInsert } = rateLimiter;
    const most = replacement === false ? maxSize : maxSize * maxTimesSampled;
    const range = minSize2 > maxSize ? 0 : Math.min(most, Math.max(maxDiff, samplesPerInsert * minSize2) - minDiff);
    if (n > range) throw mustBe(RangeError, "n", `<= ${range}, all that rate limiter and maxSize of ${this.name} ever allow`, n);
  }
};

// src/block.ts
function blockOffsets(leaves, rules, rows) {
  const offsets = [up(4 * (leaves.length + rules), 16)];
  leaves.forEach((leaf, i) => {
    offsets.push(up(offsets[i] + leaf.bytes * rows, 16));
  });
  return offsets;
}
function stepsOf2(leaf, column, lanes) {
  const values = column;
  const length = values?.length ?? 0;
  const steps = isList(values?.[0]) ? length : length / leaf.size / lanes;
  if (steps > 0 && Number.isInteger(steps)) return steps;
  throw mustBe(RangeError, named(leaf.keys), `one or more steps of ${leaf.size * lanes} elements`, column);
}

// src/writer.ts
var ITEM_OPTIONS = { length: 0, priority: 0, lane: 0, columns: 0 };
var DEFAULT_KEEP = 32;
var MOST_STEPS = 16777215;
var DONE = Promise.resolve();
var Writer = class {
  #engine;
  #x;
  #tables;
  #onClose;
  /** WRITER in the core: so many bytes. */
  #bytes;
  #writer;
  /** The staging record: of several lanes a block of columns. */
  #recordBytes;
  #record = 0;
  /** The first dimension of values: none where there is one lane. */
  #lead;
  #staging;
  #fill;
  #flatten;
  #lanes;
  #closed = false;
  /** The table that was named last: comparing its name is cheaper than the map's hash. */
  #last;
  /** Writers are made by `replay.writer`. */
  constructor(engine, tables, options, onClose) {
    this.options = options;
    this.#lanes = options.lanes;
    this.#engine = engine;
    this.#tables = tables;
    this.#onClose = onClose;
    const { core, spec, layout, pool } = engine;
    const { x } = core;
    this.#x = x;
    const { lanes, keep, items, shapes, across } = options;
    const { leaves } = layout;
    this.#lead = lanes === 1 ? [] : [lanes];
    const offsets = lanes === 1 ? [...leaves.map((leaf) => leaf.staged), layout.stagedBytes] : blockOffsets(leaves, items.length, lanes);
    this.#bytes = x.writer_bytes(lanes, items.length, keep);
    this.#recordBytes = offsets.pop();
    const writer = core.alloc(this.#bytes);
    this.#writer = writer;
    x.writer_init(writer, pool, lanes, items.length, keep, across ? 1 : 0);
    this.streams = Array.from({ length: lanes }, (_, lane) => x.writer_stream(writer, lane) >>> 0);
    try {
      items.forEach(({ table, length, stride, priority }, k) => {
        const refused = x.writer_rule(writer, k, this.#table(table).handle, length, stride, shapes[k], priority);
        if (refused !== 0) throw priorityError(`items[${k}].priority`, priority);
      });
      this.#record = engine.stage(this.#recordBytes);
    } catch (error) {
      this.#free();
      throw error;
    }
    const addresses = offsets.map((offset) => this.#record + offset);
    if (lanes > 1) core.u32.set(addresses, this.#record / 4);
    const staging = new Staging(core, lanes === 1 ? engine.makeStep : engine.makeLanes, this.#record, leaves, addresses, this.#lead);
    this.#staging = staging;
    this.#fill = visitor(spec, (i) => staging.puts[i]);
    this.#flatten = flattener(spec);
  }
  /** The step to come, to be filled in place: numbers are assigned, arrays filled. Then `append()`. What is not written keeps its value. */
  get staged() {
    this.#open();
    return this.#staging.step;
  }
  /** Steps at hand, of which an item can be made (of lane 0). */
  get length() {
    this.#open();
    return this.#x.stream_length(this.streams[0]);
  }
  /** Steps of the open episode (of lane 0). */
  get episodeSteps() {
    this.#open();
    return this.#x.stream_episode_steps(this.streams[0]);
  }
  /**
   * Appends a step, or what was filled in `staged`; then makes the items that the writer's rules say. Copies; allocates nothing. O(bytes + items)
   * With several lanes every value has a leading dimension, one step a lane.
   * @throws ReplayError SPEC_MISMATCH, INVALID_DATA, OUT_OF_MEMORY, RATE_LIMITED (too many items wait); then no step was appended, though `staged` may be filled in part
   */
  append(step) {
    this.#open();
    if (step === void 0) this.#staging.check();
    else this.#fill(step);
    const x = this.#x;
    const lanes = this.#lanes;
    const waiting = lanes === 1 ? x.writer_append(this.#writer, this.#record) : x.writer_append_block(this.#writer, this.#record, lanes, 0);
    this.#done(waiting);
  }
  /**
   * Appends many steps at once, each leaf as one column with a leading dimension of time (with several lanes: time, lane).
   * @param options.ends not 0 where the episode ends with the step
   * @param options.priorities by table, one for the item that ends with the step, for this writer's rules
   * @returns how many steps, all lanes together
   */
  appendColumns(columns, options = {}) {
    this.#open();
    const { ends, priorities } = onlyKeys("options", options, "ends, priorities");
    const { items, lanes } = this.options;
    const { core, layout } = this.#engine;
    const x = this.#x;
    const { leaves } = layout;
    const tables = items.map((rule) => rule.table);
    for (const name in priorities) if (!tables.includes(name)) throw unknownTable(name, tables);
    const values = this.#flatten(columns);
    const steps = stepsOf2(leaves[0], values[0], lanes);
    const rows = steps * lanes;
    const offsets = blockOffsets(leaves, items.length, rows);
    const prioritiesAt = offsets.pop();
    const endsAt = prioritiesAt + 8 * rows * items.length;
    const block = core.scratch(endsAt + rows);
    leaves.forEach((leaf, i) => {
      const address = block + offsets[i];
      const { dtype } = leaf.leaf;
      core.u32[block / 4 + i] = address;
      put(formOf(leaf, [steps, ...this.#lead]), core[dtype], address / DTYPES[dtype].bytes, values[i]);
    });
    if (ends !== void 0) {
      lengthOf("ends", ends, rows);
      for (let r = 0; r < rows; r++) core.u8[block + endsAt + r] = ends[r] ? 1 : 0;
    }
    tables.forEach((table, k) => {
      const own = priorities?.[table];
      const at = own === void 0 ? 0 : block + prioritiesAt + 8 * rows * k;
      core.u32[block / 4 + leaves.length + k] = at;
      if (own !== void 0) copyIn(core.f64, at / 8, "priorities", own, rows);
    });
    const code = x.writer_append_block(this.#writer, block, rows, ends === void 0 ? 0 : block + endsAt);
    this.#done(code, "priorities");
    return rows;
  }
  /**
   * Makes an item of the last steps. O(length + log size)
   * @returns `undefined` when it is in the table; a promise where the rate limiter makes it wait, which resolves when it is let in
   * @throws RangeError for a length that is not at hand, a priority that is none · ReplayError RATE_LIMITED, OUT_OF_MEMORY
   */
  createItem(table, options) {
    this.#open();
    const to = this.#table(table);
    const { length, priority = 1, lane = 0, columns } = options;
    for (const key in options) if (!(key in ITEM_OPTIONS)) onlyKeys("item", options, Object.keys(ITEM_OPTIONS).join(", "));
    integer("length", length, 1);
    finite("priority", priority, 0);
    integer("lane", lane, 0, this.options.lanes - 1);
    const shape = columns === void 0 ? 0 : this.#engine.shapeOf(columns);
    const state = this.#x.writer_create_item(this.#writer, lane, to.handle, length, shape, priority);
    return this.#done(state, "priority", lane) === 1 ? void 0 : this.#admitted(to);
  }
  /** The key of the item that was created last in a table; 0 before the first. */
  lastKey(table) {
    this.#open();
    return this.#x.table_newest(this.#table(table).handle);
  }
  /** Ends the episode with the newest step. The steps at hand are let go, so that no item spans two episodes, unless the writer is `across`. */
  endEpisode(options = {}) {
    this.#open();
    const { lane } = onlyKeys("options", options, "lane");
    const lanes = lane === void 0 ? this.streams.keys() : [integer("lane", lane, 0, this.#lanes - 1)];
    for (const i of lanes) this.#x.writer_end(this.#writer, i);
    this.#engine.changed();
  }
  /** Waits until no item waits for the rate limiter in the tables of this writer's rules, or in all where it has none. `undefined` where none does. */
  flush(options = {}) {
    this.#open();
    const names = this.options.items.map((rule) => rule.table);
    const tables = [...this.#tables.values()].filter((table) => names.length === 0 || names.includes(table.name));
    return this.#untilNone(() => tables.reduce((sum, table) => sum + table.stats().pending, 0), options);
  }
  /** Lets the steps at hand go, and the writer's memory. Items stay. */
  close() {
    if (this.#closed) return;
    this.#closed = true;
    this.#onClose();
    this.#staging.close();
    for (const stream of this.streams) this.#x.stream_clear(stream);
    this.#free();
    this.#engine.changed();
  }
  [Symbol.dispose]() {
    this.close();
  }
  #open() {
    this.#engine.open();
    if (this.#closed) throw writerClosed();
  }
  #free() {
    this.#engine.unstage(this.#record, this.#recordBytes);
    this.#x.arena_free(this.#writer, this.#bytes);
  }
  /** A table by its name, or itself if it is one of this Replay. */
  #table(table) {
    const last = this.#last;
    if (last !== void 0 && (last.name === table || last === table)) return last;
    const found3 = this.#tables.get(typeof table === "string" ? table : table?.name);
    if (found3 === void 0 || found3.name !== table && found3 !== table) throw unknownTable(table, this.#tables.keys());
    this.#last = found3;
    return found3;
  }
  /** Resolves when the item that was just created is let in. */
  #admitted(table) {
    const key = this.#x.table_newest(table.handle);
    return this.#untilNone(() => Number(table.explain(key).state === "waiting"));
  }
  /** Resolves when no item waits; `undefined` where none does. */
  #untilNone(waiting, options) {
    const result = this.#engine.waiters.until(
      () => waiting() === 0 ? DONE : void 0,
      () => `letting ${waiting()} waiting items in`,
      options
    );
    return result === DONE ? void 0 : result;
  }
  /** Ends a call to the core: what it gave, or the error for what it refused. */
  #done(code, subject, lane) {
    if (code < 0) throw this.#refused(code, subject, lane);
    this.#engine.changed();
    return code;
  }
  #refused(code, subject = "priority", lane = 0) {
    const { core } = this.#engine;
    const { x } = core;
    if (core.u8.length === 0) core.refresh();
    if (code === E_RATE_LIMITED) return new ReplayError("RATE_LIMITED", "maxPending items wait: sample, or await flush()");
    if (code === E_PRIORITY)
      return priorityError(subject === "priority" ? subject : `${subject}[${core.i32[ERROR_ARGUMENT]}]`, core.f64[ERROR_VALUE]);
    if (code !== E_LENGTH) return core.failure(code);
    const have = x.stream_length(this.streams[lane]);
    return mustBe(RangeError, "length", `an integer in 1 \u2026 ${have}, the steps at hand (or raise keep)`, core.f64[ERROR_VALUE]);
  }
};
function unknownTable(name, known) {
  return mustBe("NOT_FOUND", "table", oneFrom([...known]), name);
}
function resolveWriterOptions(engine, tables, options) {
  const { items = [], keep, lanes = 1, across = false } = onlyKeys("writer", options, "keep, lanes, items, across");
  if (!Array.isArray(items)) throw mustBe(TypeError, "items", "an array of rules", items);
  const rules = items.map((rule, k) => {
    const subject = `items[${k}]`;
    const { table, length, stride = 1, priority = 1 } = onlyKeys(subject, rule, "table, length, stride, priority, columns");
    if (!tables.has(table)) throw unknownTable(table, tables.keys());
    return {
      table,
      length: integer(`${subject}.length`, length, 1, MOST_STEPS),
      stride: integer(`${subject}.stride`, stride, 1, MOST_STEPS),
      priority: finite(`${subject}.priority`, priority, 0)
    };
  });
  const longest = Math.max(1, ...rules.map((rule) => rule.length));
  return {
    keep: integer("keep", keep ?? Math.max(DEFAULT_KEEP, longest), longest, MOST_STEPS),
    lanes: integer("lanes", lanes, 1, 65536),
    items: rules,
    shapes: items.map((rule) => rule.columns === void 0 ? 0 : engine.shapeOf(rule.columns)),
    across: flag("across", across) !== 0
  };
}

// src/replay.ts
var internals = {
  of: void 0,
  core: (maxBytes, module) => new Core(maxBytes, module),
  compile,
  Filler,
  finite,
  flag,
  integer,
  mustBe,
  onlyKeys
};
var DEFAULT_PENDING = 1023;
var MOST_ITEMS = 2 ** 26 - 1;
var NO_LIMIT = Number.MAX_SAFE_INTEGER;
var Replay = class {
  #engine;
  #tables = /* @__PURE__ */ new Map();
  #writers = /* @__PURE__ */ new Set();
  static {
    internals.of = (replay) => ({ engine: replay.#engine, adopt: (writer) => replay.#adopt(writer) });
  }
  /**
   * Takes the tables' memory at once, the steps' as they come.
   * @throws RangeError where the limits cannot fit `maxBytes`; `Replay.plan` tells what they need
   */
  constructor(options) {
    this.options = resolveOptions(options);
    const { spec, tables, maxBytes, seed } = this.options;
    const layout = layoutOf(leavesOf(spec));
    const plan = planOf(layout, tables, options.module);
    if (plan.bytes > maxBytes)
      throw mustBe(
        RangeError,
        "maxBytes",
        `at least ${plan.bytes} for ${plan.steps} steps of ${plan.bytesPerStep} bytes (or lower maxSize or maxSteps)`,
        maxBytes
      );
    const engine = new Engine(spec, layout, maxBytes, options.module);
    this.#engine = engine;
    const bits = BigInt.asUintN(64, BigInt(seed));
    Object.entries(tables).forEach(([name, table], number) => {
      const handle = makeTable(engine, table);
      engine.core.x.table_seed(handle, Number(bits & 0xffffffffn), Number(bits >> 32n), number);
      this.#tables.set(name, new Table(engine, name, table, handle));
    });
  }
  /** What a Replay of these options would need, without taking it. */
  static plan(options) {
    const { spec, tables } = resolveOptions(options);
    return planOf(layoutOf(leavesOf(spec)), tables, options.module);
  }
  /** @throws ReplayError NOT_FOUND */
  table(name) {
    this.#engine.open();
    const table = this.#tables.get(name);
    if (table === void 0) throw unknownTable(name, this.#tables.keys());
    return table;
  }
  /** All tables, in the order in which they were given. */
  get tables() {
    return [...this.#tables.values()];
  }
  /** A new writer: one for each environment, or one with as many lanes for those that go in lock-step. */
  writer(options = {}) {
    this.#engine.open();
    const resolved = resolveWriterOptions(this.#engine, this.#tables, options);
    const writer = this.#adopt(resolved);
    this.#engine.changed();
    return writer;
  }
  /** The writers that are open, in the order in which they were made. */
  get writers() {
    return [...this.#writers];
  }
  stats() {
    this.#engine.open();
    const { x } = this.#engine.core;
    return {
      steps: x.pool_live(this.#engine.pool),
      bytes: { used: x.arena_used(), max: this.options.maxBytes },
      tables: Object.fromEntries(this.tables.map((table) => [table.name, table.stats()])),
      writers: this.#writers.size
    };
  }
  /** Gives everything up; calls that wait are rejected, later calls throw CLOSED. Its memory goes with the garbage. */
  dispose() {
    if (!this.#engine.closed) this.#engine.dispose();
  }
  [Symbol.dispose]() {
    this.dispose();
  }
  #adopt(options) {
    const writer = new Writer(this.#engine, this.#tables, options, () => this.#writers.delete(writer));
    this.#writers.add(writer);
    return writer;
  }
};
function resolveOptions(options) {
  const { spec, tables, maxBytes = MOST_BYTES, seed = 0 } = onlyKeys("Replay", options, "spec, tables, maxBytes, seed, module");
  if (typeof seed !== "bigint") integer("seed", seed, 0);
  return {
    spec,
    tables: Object.fromEntries(Object.entries(tables ?? {}).map(([name, table]) => [name, resolveTable(name, table)])),
    maxBytes: Math.min(integer("maxBytes", maxBytes, 1, 2 ** 32), MOST_BYTES),
    seed: String(seed)
  };
}
function resolveTable(name, options) {
  if (name === "") throw mustBe(RangeError, "the name of a table", "a word", name);
  const subject = `tables.${name}`;
  const {
    maxSize,
    sampler = uniform(),
    remover = fifo(),
    rateLimiter = minSize(1),
    maxTimesSampled = NO_LIMIT,
    maxSteps = NO_LIMIT,
    maxPending = DEFAULT_PENDING
  } = onlyKeys(subject, options, "maxSize, sampler, remover, rateLimiter, maxTimesSampled, maxSteps, maxPending");
  integer(`${subject}.maxSize`, maxSize, 1, MOST_ITEMS);
  integer(`${subject}.maxTimesSampled`, maxTimesSampled, 1);
  integer(`${subject}.maxSteps`, maxSteps, 1);
  integer(`${subject}.maxPending`, maxPending, 0, MOST_ITEMS);
  for (const [role, value] of Object.entries({ sampler, remover }))
    if (!isSelector(value)) throw mustBe(TypeError, `${subject}.${role}`, "a selector, such as uniform()", value);
  if (!isRateLimiter(rateLimiter)) throw mustBe(TypeError, `${subject}.rateLimiter`, "a rate limiter, such as minSize()", rateLimiter);
  return { maxSize, sampler, remover, rateLimiter, maxTimesSampled, maxSteps, maxPending };
}
function makeTable(engine, options) {
  const { x } = engine.core;
  const { maxSize, maxPending, sampler, remover, maxSteps, maxTimesSampled } = options;
  const { samplesPerInsert, minSize: minSize2, minDiff, maxDiff } = options.rateLimiter;
  const kinds = kindsOf(sampler, remover);
  const table = engine.core.alloc(x.table_bytes(maxSize, maxPending, kinds.sampler, kinds.remover));
  x.table_init(table, engine.pool, maxSize, maxPending, kinds.sampler, kinds.remover);
  x.table_exponents(table, sampler.exponent ?? 1, remover.exponent ?? 1);
  const stepLimit = maxSteps === NO_LIMIT ? Number.POSITIVE_INFINITY : maxSteps;
  x.table_limits(table, stepLimit, maxTimesSampled > 4294967295 ? 0 : maxTimesSampled, samplesPerInsert, minSize2, minDiff, maxDiff);
  return table;
}

// src/rlds/leaves.ts
var ARRAYS = {
  bool: Uint8Array,
  i8: Int8Array,
  u8: Uint8Array,
  i16: Int16Array,
  u16: Uint16Array,
  i32: Int32Array,
  u32: Uint32Array,
  i64: BigInt64Array,
  u64: BigUint64Array,
  f32: Float32Array,
  f64: Float64Array
};
function zeros(dtype, length) {
  return new ARRAYS[dtype](length);
}
function isLeaf2(spec) {
  return typeof spec.dtype === "string";
}
function isText(leaf) {
  return leaf.dtype === "string" || leaf.dtype === "bytes";
}
function sizeOf2(shape) {
  return shape.reduce((product, n) => product * n, 1);
}
function leavesOf2(spec, keys = []) {
  if (isLeaf2(spec)) return [{ path: keys.join("/"), keys, leaf: spec, size: sizeOf2(spec.shape) }];
  const names = Array.isArray(spec) ? Object.keys(spec) : Object.keys(spec).sort();
  return names.flatMap((name) => leavesOf2(spec[name], [...keys, name]));
}
function packed(spec, values) {
  let at = 0;
  const visit = (node) => {
    if (isLeaf2(node)) return values[at++];
    if (Array.isArray(node)) return node.map(visit);
    const names = Object.keys(node).sort();
    return Object.fromEntries(names.map((name) => [name, visit(node[name])]));
  };
  return visit(spec);
}
function valueAt(value, keys) {
  let at = value;
  for (const key of keys) at = at?.[key];
  return at;
}

// src/rlds/rlds-error.ts
var RldsError = class extends ReplayError {
  constructor(code, message, place = {}, options) {
    super(code, `${message}${told(place)}`);
    this.name = "RldsError";
    Object.assign(this, place);
    if (options?.cause !== void 0) this.cause = options.cause;
  }
};
function told({ file, offset, episode, step, pushed }) {
  const inFile = [file, offset === void 0 ? void 0 : `byte ${offset}`];
  const inData = [episode === void 0 ? void 0 : `episode ${episode}`, step === void 0 ? void 0 : `step ${step}`];
  const before = pushed === void 0 ? void 0 : `${pushed} ${pushed === 1 ? "trajectory was" : "trajectories were"} pushed before it`;
  const parts = [...[inFile, inData].map((words) => words.filter((word) => word !== void 0).join(", ")), before].filter((part3) => part3);
  return parts.length === 0 ? "" : ` (${parts.join("; ")})`;
}

// src/formats/columns/column.ts
var Column = class {
  constructor({ path, leaf, rows, rowBytes, chunkRows, read }) {
    this.path = path;
    this.leaf = leaf;
    this.rows = rows;
    this.rowBytes = rowBytes;
    this.chunkRows = chunkRows ?? 1;
    this.read = read;
  }
};
function specOf(tree) {
  if (tree instanceof Column) return tree.leaf;
  if (Array.isArray(tree)) return tree.map(specOf);
  return Object.fromEntries(Object.entries(tree).map(([name, node]) => [name, specOf(node)]));
}
function columnsOf(tree) {
  if (tree instanceof Column) return [tree];
  if (Array.isArray(tree)) return tree.flatMap(columnsOf);
  const nodes = tree;
  return Object.keys(nodes).sort().flatMap((name) => columnsOf(nodes[name]));
}
function blank(leaf, rows) {
  const length = rows * sizeOf2(leaf.shape);
  if (!isText(leaf)) return zeros(leaf.dtype, length);
  return new Array(length).fill(leaf.dtype === "string" ? "" : new Uint8Array(0));
}
function joined(leaf, pieces, rows) {
  const [first] = pieces;
  if (pieces.length === 1 && first?.length === rows * sizeOf2(leaf.shape)) return first;
  const all = blank(leaf, rows);
  let at = 0;
  for (const piece of pieces) {
    if (isText(leaf)) for (let i = 0; i < piece.length; i++) all[at + i] = piece[i];
    else all.set(piece, at);
    at += piece.length;
  }
  return all;
}

// src/rlds/step-columns.ts
var StepColumns = class {
  #leaves;
  #data;
  /** @param data a column a leaf, in the order of the spec's leaves, of `length` values each */
  constructor(spec, data, length) {
    this.spec = spec;
    this.length = length;
    this.#leaves = leavesOf2(spec);
    this.#data = data;
    this.#leaves.forEach(({ path, size }, i) => {
      const found3 = data[i]?.length;
      if (found3 !== size * length) throw new RangeError(`column ${path} must have ${size} \xD7 ${length} elements, got ${found3}`);
    });
  }
  /** The columns, nested as the spec. */
  get columns() {
    return packed(
      this.spec,
      this.#leaves.map(({ leaf }, i) => ({ data: this.#data[i], shape: [this.length, ...leaf.shape] }))
    );
  }
  /** A column a leaf, in the order of the spec's leaves. */
  get data() {
    return this.#data;
  }
  /** Step i. @throws RangeError */
  at(i) {
    if (!(i >= 0 && i < this.length)) throw new RangeError(`step must be in 0 \u2026 ${this.length - 1}, got ${i}`);
    return packed(
      this.spec,
      this.#leaves.map((leaf, k) => valueIn(leaf, this.#data[k], i))
    );
  }
  *[Symbol.iterator]() {
    for (let i = 0; i < this.length; i++) yield this.at(i);
  }
};
function valueIn({ leaf, size }, data, i) {
  if (leaf.shape.length > 0) return isText(leaf) ? data.slice(i * size, (i + 1) * size) : data.subarray(i * size, (i + 1) * size);
  return leaf.dtype === "bool" ? data[i] === 1 : data[i];
}

// src/formats/columns/transitions.ts
var BOOL = { dtype: "bool", shape: [] };
function stepSpecOf(transition) {
  return { ...transition, discount: { dtype: "f32", shape: [] }, is_first: BOOL, is_last: BOOL, is_terminal: BOOL };
}
function stepsOf3(transition, { data, length, finalStep, ending }) {
  const steps = length + (finalStep ? 1 : 0);
  const given = packed(
    transition,
    leavesOf2(transition).map(({ leaf }, i) => joined(leaf, [data[i]], steps))
  );
  const discount = new Float32Array(steps).fill(1, 0, length);
  const [first, last, terminal] = [0, 1, 2].map(() => new Uint8Array(steps));
  if (steps > 0) first[0] = 1;
  if (ending !== "open" && steps > 0) last[steps - 1] = 1;
  if (ending === "terminated" && steps > 0) terminal[steps - 1] = 1;
  if (ending === "terminated" && length > 0) discount[length - 1] = 0;
  const columns = { ...given, discount, is_first: first, is_last: last, is_terminal: terminal };
  const spec = stepSpecOf(transition);
  return new StepColumns(
    spec,
    leavesOf2(spec).map(({ keys }) => valueAt(columns, keys)),
    steps
  );
}

// src/formats/columns/flat.ts
var SLICE_ROWS = 4096;
var SLICE_BYTES = 2 ** 26;
function rowsOf(columns, file) {
  const [first] = columns;
  const odd = columns.find(({ rows }) => rows === void 0 || rows !== first?.rows);
  if (odd !== void 0) throw new RldsError("CORRUPT", `${odd.path} has ${odd.rows ?? "no"} rows, ${first?.path} ${first?.rows ?? "none"}`, { file });
  return first?.rows ?? 0;
}
function squeezed(column) {
  return column.leaf.shape.length === 1 && column.leaf.shape[0] === 1 ? new Column({ ...column, leaf: { ...column.leaf, shape: [] } }) : column;
}
async function* flatEpisodes({ file, transition: tree, terminals, timeouts, nextObservation }, options) {
  const { finalObservation, maxEpisodeSteps = Number.POSITIVE_INFINITY, maxBytes, signal } = options;
  const transition = specOf(tree);
  const leaves = leavesOf2(transition);
  const columns = columnsOf(tree);
  const next = finalObservation === "none" || nextObservation === void 0 ? [] : columnsOf(nextObservation);
  const flags = [terminals, timeouts].filter((column) => column !== void 0);
  const rows = rowsOf([...columns, ...next, ...flags], file);
  const height = sliceRows([...columns, ...next]);
  let pieces = [];
  let length = 0;
  const rowBytes = columns.reduce((sum, column) => sum + column.rowBytes, 0);
  const ended = (ending, final) => {
    const finalStep = ending !== "open" && (final !== void 0 || finalObservation === "rlds" && ending === "terminated");
    const data = leaves.map(({ leaf }, k) => {
      const own = pieces.map((piece) => piece[k]);
      const observed = leaves.slice(0, k).filter(({ keys }) => keys[0] === "observation").length;
      const last = leaves[k]?.keys[0] === "observation" ? final?.[observed] : void 0;
      return joined(leaf, last === void 0 ? own : [...own, last], length + (last === void 0 ? 0 : 1));
    });
    const steps = stepsOf3(transition, { data, length, finalStep, ending });
    pieces = [];
    length = 0;
    return steps;
  };
  for (let from = 0; from < rows; from += height) {
    signal?.throwIfAborted();
    const to = Math.min(rows, from + height);
    const read = (list) => inTurn(list, (column) => column.read(from, to));
    const data = await read(columns);
    const nextData = await read(next);
    const [terminal, timeout] = await read(flags);
    let at = 0;
    for (let i = 0; i < to - from; i++) {
      const over = Number(terminal[i]) !== 0;
      const cut = timeout === void 0 ? length + i + 1 - at >= maxEpisodeSteps : Number(timeout[i]) !== 0;
      if (!over && !cut) continue;
      pieces.push(part(columns, data, at, i + 1));
      length += i + 1 - at;
      at = i + 1;
      yield ended(over ? "terminated" : "truncated", next.length === 0 ? void 0 : part(next, nextData, i, i + 1));
    }
    if (at < to - from) pieces.push(part(columns, data, at, to - from));
    length += to - from - at;
    if (length * rowBytes > maxBytes) throw new RldsError("CORRUPT", `an episode goes on for more than the ${maxBytes} bytes that maxBytes allows`, { file });
  }
  if (length > 0) yield ended("open");
}
function sliceRows(columns) {
  const rowBytes = columns.reduce((sum, column) => sum + column.rowBytes, 1);
  const wanted = Math.max(SLICE_ROWS, ...columns.map(({ chunkRows }) => chunkRows));
  return Math.max(1, Math.min(wanted, Math.floor(SLICE_BYTES / rowBytes)));
}
function part(columns, data, from, to) {
  return columns.map(({ leaf }, k) => {
    const size = leaf.shape.reduce((product, n) => product * n, 1);
    const all = data[k];
    const cut = Array.isArray(all) ? all.slice(from * size, to * size) : all.subarray(from * size, to * size);
    return cut;
  });
}
async function inTurn(list, of2) {
  const results = [];
  for (const one of list) results.push(await of2(one));
  return results;
}

// src/formats/columns/same-spec.ts
function sameSpec(expected, found3) {
  const [wanted, given] = [expected, found3].map((spec) => new Map(leavesOf2(spec).map(({ keys, path, leaf }) => [JSON.stringify(keys), { path, leaf }])));
  for (const [key, { path, leaf }] of wanted) {
    const other = given?.get(key)?.leaf;
    if (other === void 0) return `${path} is missing`;
    if (told2(other) !== told2(leaf)) return `${path} is ${told2(other)}, not ${told2(leaf)}`;
  }
  for (const [key, { path }] of given) if (!wanted?.has(key)) return `it has ${path} as well`;
  return void 0;
}
function told2({ dtype, shape }) {
  return shape.length === 0 ? dtype : `${dtype} [${shape.join(", ")}]`;
}

// src/formats/source.ts
function inside(path, named2) {
  const parts = path.split("/");
  if (path === "" || parts.some((part3) => part3 === "" || part3 === "." || part3 === "..") || /[\\\0:]/.test(path))
    throw new RldsError("CORRUPT", `${named2} names ${JSON.stringify(path)}, which is no file inside the dataset's folder`);
  return path;
}

// src/formats/bytes-source.ts
function bytesFile(name, bytes) {
  const readNow2 = (at, length) => {
    if (at + length > bytes.length)
      throw new RldsError("CORRUPT", `the file ends ${at + length - bytes.length} bytes too early`, { file: name, offset: bytes.length });
    return bytes.subarray(at, at + length);
  };
  return {
    name,
    size: bytes.length,
    read: async (at, length) => readNow2(at, length),
    readNow: readNow2,
    async close() {
    }
  };
}

// src/formats/blob-source.ts
function blobFile(name, blob) {
  return {
    name,
    size: blob.size,
    async read(at, length) {
      if (at + length > blob.size) {
        throw new RldsError("CORRUPT", `the file ends ${at + length - blob.size} bytes too early`, { file: name, offset: blob.size });
      }
      try {
        return new Uint8Array(await blob.slice(at, at + length).arrayBuffer());
      } catch (cause) {
        throw new RldsError("IO", "the file cannot be read: it may have changed since it was chosen", { file: name, offset: at }, { cause });
      }
    },
    async close() {
    }
  };
}
function mapFolder(name, files) {
  return {
    name,
    async open(path) {
      const found3 = files.get(inside(path, name));
      if (found3 === void 0) throw new RldsError("NOT_FOUND", "there is no such file", { file: `${name}/${path}` });
      return found3 instanceof Uint8Array ? bytesFile(path, found3) : blobFile(path, found3);
    },
    async list() {
      return [...files.keys()].sort();
    }
  };
}
function filesFolder(files) {
  const paths = files.map((file) => file.webkitRelativePath || file.name);
  const [top = ""] = paths[0]?.split("/") ?? [];
  const chosen = paths.every((path) => path.startsWith(`${top}/`));
  return mapFolder(chosen ? top : "files", new Map(files.map((file, i) => [chosen ? paths[i].slice(top.length + 1) : paths[i], file])));
}

// src/formats/handle-source.ts
async function handleFile(handle, name = handle.name) {
  return blobFile(name, await found(handle.getFile(), name));
}
function handleFolder(root) {
  return {
    name: root.name,
    async open(path) {
      const names = inside(path, root.name).split("/");
      const last = names.pop();
      let folder = root;
      for (const name of names) folder = await found(folder.getDirectoryHandle(name), path);
      return handleFile(await found(folder.getFileHandle(last), path), path);
    },
    async list() {
      return (await listed(root, "")).sort();
    }
  };
}
async function listed(folder, prefix) {
  const paths = [];
  for await (const [name, entry] of folder.entries()) {
    if (entry.kind === "file") paths.push(prefix + name);
    else paths.push(...await listed(entry, `${prefix}${name}/`));
  }
  return paths;
}
async function found(asked, file) {
  try {
    return await asked;
  } catch (cause) {
    const missing = ["NotFoundError", "TypeMismatchError"].includes(cause?.name ?? "");
    throw new RldsError(missing ? "NOT_FOUND" : "IO", missing ? "there is no such file" : "the file cannot be opened", { file }, { cause });
  }
}

// src/formats/node-source.ts
async function modules() {
  if (globalThis.process?.versions?.node === void 0)
    throw new RldsError("UNSUPPORTED", "a path needs files of the system: give a URL, a Blob or files here");
  const names = ["node:fs/promises", "node:fs", "node:path"];
  const [fs, now, path] = await Promise.all(names.map((name) => import(
    /* webpackIgnore: true */
    /* @vite-ignore */
    name
  )));
  return { fs, now, path };
}
async function nodeSource(path) {
  const all = await modules();
  const { fs, path: paths } = all;
  const found3 = await fs.stat(path).catch((cause) => {
    throw new RldsError("NOT_FOUND", "there is no such file or folder", { file: path }, { cause });
  });
  if (found3.isDirectory()) return { folder: folderOf(path, all) };
  return { file: await fileOf(path, paths.basename(path), all) };
}
function folderOf(root, all) {
  const { fs, path } = all;
  return {
    name: root,
    async open(name) {
      const full = path.join(root, inside(name, root));
      const [real, top] = await Promise.all([fs.realpath(full), fs.realpath(root)]).catch((cause) => {
        throw new RldsError("NOT_FOUND", "there is no such file", { file: full }, { cause });
      });
      if (!real.startsWith(top.endsWith(path.sep) ? top : top + path.sep))
        throw new RldsError("CORRUPT", "the file is a link that leads outside the dataset's folder", { file: full });
      return fileOf(full, name, all);
    },
    async list() {
      const entries = await fs.readdir(root, { recursive: true, withFileTypes: true });
      const files = entries.filter((entry) => entry.isFile());
      return files.map(
        (entry) => path.relative(root, path.join(entry.parentPath ?? entry.path, entry.name)).split(path.sep).join("/")
      ).sort();
    }
  };
}
async function fileOf(full, name, { fs, now }) {
  let handle;
  try {
    handle = await fs.open(full, "r");
  } catch (cause) {
    throw new RldsError("NOT_FOUND", "the file cannot be opened", { file: full }, { cause });
  }
  const { size } = await handle.stat();
  const early = (missing) => new RldsError("CORRUPT", `the file ends ${missing} bytes too early`, { file: name, offset: size });
  const shorter = (at) => new RldsError("CORRUPT", "the file became shorter while it was read", { file: name, offset: at });
  return {
    name,
    size,
    async read(at, length) {
      if (at + length > size) throw early(at + length - size);
      const bytes = new Uint8Array(length);
      for (let done = 0; done < length; ) {
        const { bytesRead } = await handle.read(bytes, done, length - done, at + done);
        if (bytesRead === 0) throw shorter(at + done);
        done += bytesRead;
      }
      return bytes;
    },
    readNow(at, length) {
      if (at + length > size) throw early(at + length - size);
      const bytes = new Uint8Array(length);
      for (let done = 0; done < length; ) {
        const read = now.readSync(handle.fd, bytes, done, length - done, at + done);
        if (read === 0) throw shorter(at + done);
        done += read;
      }
      return bytes;
    },
    close: () => handle.close()
  };
}

// src/formats/url-source.ts
var FIRST = 1 << 18;
function urlFolder(base, options) {
  return {
    name: base.href,
    async open(path) {
      const url = new URL(base);
      const names = inside(path, base.href).split("/").map(encodeURIComponent);
      url.pathname = `${base.pathname.replace(/\/$/, "")}/${names.join("/")}`;
      return urlFile(url, options);
    },
    async list() {
      return void 0;
    }
  };
}
async function urlFile(url, options) {
  const name = url.href;
  const response = await ask(url, options, [0, FIRST - 1]);
  if (response.status === 416) {
    await response.body?.cancel();
    return bytesFile(name, new Uint8Array(0));
  }
  if (response.status !== 206) return bytesFile(name, await whole(response, name, options));
  const range = rangeOf(response);
  if (range === void 0) {
    await response.body?.cancel();
    return bytesFile(name, await whole(await ask(url, options), name, options));
  }
  const { size } = range;
  let first = await part2(response, name, 0, Math.min(FIRST, size), size);
  return {
    name,
    size,
    async read(at, length) {
      if (at + length > size) throw new RldsError("CORRUPT", `the file ends ${at + length - size} bytes too early`, { file: name, offset: size });
      if (first !== void 0 && at + length <= first.length) return first.subarray(at, at + length);
      if (length === 0) return new Uint8Array(0);
      const answer = await ask(url, options, [at, at + length - 1]);
      return part2(answer, name, at, length, size);
    },
    async close() {
      first = void 0;
    }
  };
}
async function ask(url, { signal, fetch: given }, range) {
  let response;
  try {
    response = await (given ?? fetch)(url, { signal, headers: range === void 0 ? {} : { Range: `bytes=${range[0]}-${range[1]}` } });
  } catch (cause) {
    signal?.throwIfAborted();
    throw new RldsError("IO", `the request failed: ${cause?.message}`, { file: url.href }, { cause });
  }
  const empty = response.status === 416 && range?.[0] === 0;
  if (response.ok || empty) return response;
  await response.body?.cancel();
  const gone = response.status === 404 || response.status === 410;
  throw new RldsError(gone ? "NOT_FOUND" : "IO", `the server answered ${response.status} ${response.statusText}`.trim(), { file: url.href });
}
function rangeOf(response) {
  const found3 = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(response.headers.get("Content-Range") ?? "");
  return found3 === null ? void 0 : { from: Number(found3[1]), to: Number(found3[2]), size: Number(found3[3]) };
}
async function part2(response, name, at, length, size) {
  const range = rangeOf(response);
  if (response.status !== 206 || range?.from !== at || range.to !== at + length - 1 || range.size !== size) {
    await response.body?.cancel();
    throw new RldsError("IO", `the server answered another range than bytes ${at} \u2026 ${at + length - 1} of ${size}: the file may have changed`, { file: name, offset: at });
  }
  return gathered(response, name, length, (bytes) => new RldsError("IO", `the server sent ${bytes} bytes instead of ${length}`, { file: name, offset: at }));
}
async function whole(response, name, { maxBytes }) {
  const bytes = await gathered(response, name, void 0, () => {
    return new RldsError("UNSUPPORTED", `the server knows no ranges, and the file is larger than maxBytes, ${maxBytes}: give a larger one`, { file: name });
  }, maxBytes);
  return bytes;
}
async function gathered(response, name, length, wrong, most = length ?? 0) {
  const chunks = [];
  let size = 0;
  try {
    for (const reader = response.body?.getReader(); reader !== void 0; ) {
      const { done, value } = await reader.read();
      if (done) break;
      size += value.length;
      if (size > most) {
        await reader.cancel();
        throw wrong(size);
      }
      chunks.push(value);
    }
  } catch (cause) {
    if (cause instanceof RldsError || cause?.name === "AbortError" || cause?.name === "TimeoutError") throw cause;
    throw new RldsError("IO", `the answer broke off after ${size} bytes`, { file: name }, { cause });
  }
  if (length !== void 0 && size !== length) throw wrong(size);
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}

// src/formats/open-source.ts
var MAX_BYTES = 2 ** 30;
var RULE = "a path, a URL, a Blob, an array of Files, a handle of a file or folder, or a Map of bytes by their paths";
async function sourceOf(from, { signal, fetch: fetch2, maxBytes = MAX_BYTES } = {}) {
  signal?.throwIfAborted();
  if (typeof from === "string" && !/^https?:\/\//i.test(from)) return nodeSource(from);
  if (typeof from === "string" || from instanceof URL) {
    const url = new URL(from);
    if (url.protocol === "file:") return nodeSource(filePath(url));
    const options = { signal, fetch: fetch2, maxBytes };
    return isFolder(url) ? { folder: urlFolder(url, options) } : { file: await urlFile(url, options) };
  }
  if (from instanceof Blob) return { file: blobFile(from.name ?? "a Blob", from) };
  if (Array.isArray(from) && from.every((one) => one instanceof Blob)) return { folder: filesFolder(from) };
  if (typeof from?.get === "function") return { folder: mapFolder("the Map", from) };
  const { kind } = from ?? {};
  if (kind === "file") return { file: await handleFile(from) };
  if (kind === "directory") return { folder: handleFolder(from) };
  throw internals.mustBe(TypeError, "from", RULE, from);
}
function isFolder({ protocol, pathname }) {
  return protocol.startsWith("http") && !/\.[a-z][a-z0-9]*$/i.test(pathname);
}
function filePath({ pathname }) {
  const path = decodeURIComponent(pathname);
  return /^\/[a-z]:/i.test(path) ? path.slice(1) : path;
}

// src/formats/columns/half.ts
function half(bits) {
  const sign = bits & 32768 ? -1 : 1;
  const exponent = bits >> 10 & 31;
  const fraction = bits & 1023;
  if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return exponent === 0 ? sign * fraction * 2 ** -24 : sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}
function halves(bytes) {
  return Float32Array.from({ length: bytes.length >> 1 }, (_, i) => half(bytes[2 * i] | bytes[2 * i + 1] << 8));
}

// src/formats/hdf5/element.ts
var CLASSES = ["integer", "float", "time", "string", "bitfield", "opaque", "compound", "reference", "enum", "variable length", "array"];
function elementOf(type, file, path) {
  const kind = CLASSES[type.type];
  const base = { shape: [], bytes: type.size, allocates: false };
  const refused = (what) => new RldsError("UNSUPPORTED", `${path} holds ${what}, which is no leaf of a step`, { file });
  if (kind === "string" && type.vlen) return { ...base, dtype: "string", allocates: true, decode: pointedTexts };
  if (kind === "string") return { ...base, dtype: "string", decode: (bytes) => fixedTexts(bytes, type) };
  if (kind === "variable length" && type.vlen_type?.type === 0 && type.vlen_type.size === 1)
    return { ...base, dtype: "bytes", allocates: true, decode: pointedBytes };
  if (kind === "enum" && isBool(type)) return { ...base, dtype: "bool", decode: (bytes) => bools(bytes, file, path) };
  if (kind === "float" && type.size === 2) return { ...base, dtype: "f32", decode: (bytes) => halves(bytes) };
  if (kind === "integer" || kind === "float" || kind === "enum" && type.enum_type?.type === 0) {
    const dtype = `${kind === "float" ? "f" : type.signed ? "i" : "u"}${8 * type.size}`;
    const Numbers = ARRAYS[dtype];
    if (Numbers === void 0) throw refused(`${kind}s of ${type.size} bytes`);
    return { ...base, dtype, decode: (bytes) => new Numbers(bytes.buffer, bytes.byteOffset, bytes.length / type.size) };
  }
  if (kind === "array" && type.array_type !== void 0 && type.array_type.type !== 10) {
    const inner = elementOf(type.array_type, file, path);
    if (!inner.allocates) return { ...inner, shape: type.array_type.shape ?? [], bytes: type.size };
  }
  throw refused(`elements of the type ${kind ?? type.type}`);
}
function isBool({ size, enum_type }) {
  const members = enum_type?.members ?? {};
  return size === 1 && Object.keys(members).length === 2 && members.FALSE === 0 && members.TRUE === 1;
}
function bools(bytes, file, path) {
  const wrong = bytes.findIndex((byte) => byte > 1);
  if (wrong >= 0) throw new RldsError("CORRUPT", `${path} is of booleans, and has a ${bytes[wrong]}`, { file });
  return bytes;
}
var utf8 = new TextDecoder();
function fixedTexts(bytes, { size, strpad }) {
  return Array.from({ length: bytes.length / size }, (_, i) => {
    const text = bytes.subarray(i * size, (i + 1) * size);
    if (strpad === 2) return utf8.decode(text).replace(/ +$/, "");
    const end = text.indexOf(0);
    return utf8.decode(end < 0 ? text : text.subarray(0, end));
  });
}
function pointedTexts(bytes, library) {
  return Array.from(new Uint32Array(bytes.buffer), (at) => at === 0 ? "" : library.UTF8ToString(at));
}
function pointedBytes(bytes, library) {
  const words = new Uint32Array(bytes.buffer);
  return Array.from({ length: words.length / 2 }, (_, i) => {
    const at = words[2 * i + 1];
    return library.HEAPU8.slice(at, at + words[2 * i]);
  });
}

// src/formats/hdf5/h5wasm.ts
var current;
var made = 0;
async function h5wasm() {
  const found3 = await current?.catch(() => void 0);
  if (found3 === void 0 || found3.broken !== void 0) current = instance(found3?.broken);
  return current;
}
async function instance(broken) {
  const library = made++ === 0 ? await imported() : await anew(broken);
  const lines = [""];
  const { FS } = library;
  FS.createDevice("/dev", `complaints-${made}`, void 0, (byte) => {
    if (byte === 10) lines.push("");
    else lines[lines.length - 1] += String.fromCharCode(byte);
    if (lines.length > 200) lines.splice(0, 100);
  });
  FS.close(FS.getStream(2));
  FS.open(`/dev/complaints-${made}`, "w");
  return {
    library,
    said() {
      const said = lines.filter((line) => /^\s+#\d+: /.test(line)).at(-1);
      lines.splice(0, lines.length, "");
      return said?.replace(/^.*\): /, "").trim() ?? "HDF5 does not say why";
    }
  };
}
async function imported() {
  try {
    const { ready } = await import("h5wasm");
    return await ready;
  } catch (cause) {
    made = 0;
    throw new RldsError("UNSUPPORTED", "HDF5 files are read by the package h5wasm, which is not installed: npm install h5wasm", {}, { cause });
  }
}
async function anew(broken) {
  try {
    const factory = new URL("./hdf5_util.js", import.meta.resolve("h5wasm")).href;
    const { default: make } = await import(
      /* webpackIgnore: true */
      /* @vite-ignore */
      factory
    );
    return await make({ noInitialRun: true });
  } catch (cause) {
    throw new RldsError("UNSUPPORTED", `h5wasm broke on a file before (${broken}), and cannot be loaded anew here: reload the page`, {}, { cause });
  }
}

// src/formats/hdf5/global-heap.ts
var SIGNATURE = [71, 67, 79, 76];
var HEAD = 16;
var MOST4 = 65536;
function heapsIn(bytes) {
  const found3 = [];
  if (bytes.length > MOST4) return found3;
  for (let at = bytes.indexOf(SIGNATURE[0]); at >= 0; at = bytes.indexOf(SIGNATURE[0], at + 1))
    if (SIGNATURE.every((byte, i) => bytes[at + i] === byte)) found3.push(at);
  return found3;
}
function isWalkable(at, size, read) {
  if (at + HEAD > size) return true;
  const head = viewOf(read(at, HEAD));
  const length = Number(head.getBigUint64(8, true));
  if (head.getUint8(4) !== 1 || length > size - at) return true;
  const heap = viewOf(read(at, length));
  for (let p = HEAD; p + HEAD <= length; ) {
    const bytes = Number(heap.getBigUint64(p + 8, true));
    const step = heap.getUint16(p, true) === 0 ? bytes : HEAD + 8 * Math.ceil(bytes / 8);
    if (step < HEAD || p + step > length) return false;
    p += step;
  }
  return true;
}
var viewOf = (bytes) => new DataView(bytes.buffer, bytes.byteOffset, bytes.length);

// src/formats/hdf5/mount.ts
var mounted = 0;
var EIO = 29;
function mount(library, { name: file, size }, bytes) {
  const walkable = /* @__PURE__ */ new Set();
  const name = `reprise-${mounted++}.hdf5`;
  const { FS } = library;
  const node = FS.createFile("/", name, {}, true, false);
  const mount2 = {
    path: `/${name}`,
    unmount() {
      node.usedBytes = 0;
      FS.unlink(`/${name}`);
    }
  };
  node.usedBytes = size;
  node.stream_ops = {
    ...node.stream_ops,
    read(_stream, buffer, offset, length, position) {
      const wanted = Math.max(0, Math.min(length, size - position));
      if (wanted === 0) return 0;
      try {
        const read = bytes(position, wanted);
        for (const at of heapsIn(read)) {
          if (!walkable.has(position + at) && !isWalkable(position + at, size, bytes))
            throw new RldsError("CORRUPT", "a heap of texts or bytes is damaged", { file, offset: position + at });
          walkable.add(position + at);
        }
        buffer.set(read, offset);
        return wanted;
      } catch (error) {
        mount2.failure = error;
        throw new FS.ErrnoError(EIO);
      }
    }
  };
  return mount2;
}
var PIECE = 2 ** 23;
async function readNow(file, maxBytes, signal) {
  if (file.readNow !== void 0) return file.readNow;
  if (file.size > maxBytes) {
    const rule = `HDF5 is read from memory here, and the file takes ${file.size} bytes of the ${maxBytes} that maxBytes allows`;
    throw new RldsError("UNSUPPORTED", `${rule}: raise it, open the file in a worker, or by its path in Node`, { file: file.name });
  }
  const all = new Uint8Array(file.size);
  for (let at = 0; at < all.length; at += PIECE) {
    signal?.throwIfAborted();
    all.set(await file.read(at, Math.min(PIECE, all.length - at)), at);
  }
  return (at, length) => all.subarray(at, at + length);
}

// src/formats/hdf5/hdf5-file.ts
var FILTERS = [1, 2, 3, 5, 6];
var MOST_DEPTH = 16;
var Hdf5File = class _Hdf5File {
  #file;
  #read;
  #opened;
  constructor(file, read, maxBytes) {
    this.name = file.name;
    this.maxBytes = maxBytes;
    this.#file = file;
    this.#read = read;
  }
  /** Owns the file from now on. @throws RldsError CORRUPT, UNSUPPORTED */
  static async open(file, { signal, maxBytes }) {
    try {
      const hdf5 = new _Hdf5File(file, await readNow(file, maxBytes, signal), maxBytes);
      await hdf5.#ready();
      return hdf5;
    } catch (error) {
      await file.close();
      throw error;
    }
  }
  async close() {
    this.#leave();
    await this.#file.close();
  }
  /** What is in a group, sorted as the file has it. @throws RldsError CORRUPT */
  async names(group) {
    return this.#call(`the group ${group}`, ({ library, id }) => library.get_names(id, group, false));
  }
  /** What is at a path; undefined where nothing is. @throws RldsError UNSUPPORTED for links and types */
  async entry(path) {
    return this.#call(path, ({ library, id }) => {
      const type = library.get_type(id, path);
      if (type === library.H5G_GROUP) return "group";
      if (type === library.H5G_DATASET) return "dataset";
      if (type === -1) return void 0;
      throw new RldsError("UNSUPPORTED", `${path} is a link that leads nowhere in this file, or a type`, { file: this.name });
    });
  }
  /** A dataset, or a group of them: `_index_0`, `_index_1` … are an array, as Minari writes tuples. @throws RldsError */
  async tree(path, depth = 0) {
    const entry = await this.entry(path);
    if (entry === void 0) throw new RldsError("CORRUPT", `the file has no ${path}`, { file: this.name });
    if (entry === "dataset") return this.column(path);
    if (depth === MOST_DEPTH) throw new RldsError("UNSUPPORTED", `groups are nested deeper than ${MOST_DEPTH} at ${path}`, { file: this.name });
    const nodes = [];
    for (const name of await this.names(path)) nodes.push([name, await this.tree(`${path}/${name}`, depth + 1)]);
    const tuple = nodes.length > 0 && nodes.map((_, i) => nodes.find(([name]) => name === `_index_${i}`)?.[1]);
    return tuple && tuple.every((node) => node !== void 0) ? tuple : Object.fromEntries(nodes);
  }
  /** A dataset that is read by rows. @throws RldsError CORRUPT, UNSUPPORTED for its type or a filter */
  async column(path) {
    const { type, filters } = await this.#call(path, ({ library, id }) => ({
      type: library.get_dataset_metadata(id, path),
      filters: library.get_dataset_filters(id, path)
    }));
    const refused = (what) => new RldsError("UNSUPPORTED", `${path} ${what}`, { file: this.name });
    const filter = filters.find(({ id }) => !FILTERS.includes(id));
    if (filter !== void 0) throw refused(`is compressed by ${filter.name || "a filter"} (${filter.id}), which h5wasm has not: write it with gzip`);
    if (type.virtual_sources !== void 0) throw refused("is a virtual dataset, whose rows are in other files");
    if (type.shape === null) throw refused("is empty: it has no rows at all");
    const element = elementOf(type, this.name, path);
    const { shape } = type;
    const row = shape.slice(1);
    const rowBytes = sizeOf2(row) * element.bytes;
    this.#fits(path, Math.max(sizeOf2(type.chunks ?? []), sizeOf2(row)) * Math.max(element.bytes, 1) * sizeOf2(element.shape));
    return new Column({
      path: path.replace(/^\//, ""),
      leaf: { dtype: element.dtype, shape: [...row, ...element.shape] },
      rows: shape.length === 0 ? void 0 : shape[0],
      rowBytes,
      chunkRows: type.chunks?.[0] ?? 1,
      read: (from, to) => this.#rows(path, shape, element, from, to)
    });
  }
  /** The attributes of a group; those without a value are left out. @throws RldsError */
  async attributes(path) {
    const found3 = /* @__PURE__ */ new Map();
    const names = await this.#call(`the attributes of ${path}`, ({ library, id }) => library.get_attribute_names(id, path));
    for (const name of names) {
      const what = `the attribute ${name} of ${path}`;
      const attribute = await this.#call(what, ({ instance: instance2, library, id, mount: mount2 }) => {
        const type = library.get_attribute_metadata(id, path, name);
        if (type.shape === null) return void 0;
        const element = elementOf(type, this.name, what);
        const data = this.#elements(library, what, element, sizeOf2(type.shape), {
          read: (at) => this.#done(library.get_attribute_data(id, path, name, BigInt(at)), what, instance2, mount2),
          reclaim: (at) => library.reclaim_vlen_memory(id, path, name, BigInt(at))
        });
        return { leaf: { dtype: element.dtype, shape: [...type.shape, ...element.shape] }, data };
      });
      if (attribute !== void 0) found3.set(name, attribute);
    }
    return found3;
  }
  /** Opens the file where it is not, or where its library broke. */
  async #ready() {
    if (this.#opened !== void 0 && this.#opened.instance.broken === void 0) return this.#opened;
    this.#leave();
    const instance2 = await h5wasm();
    const { library } = instance2;
    const mounted2 = mount(library, this.#file, this.#read);
    const id = this.#guarded("it", instance2, () => library.open(mounted2.path, library.H5F_ACC_RDONLY, false, -1, -1));
    if (id < 0n) {
      mounted2.unmount();
      this.#done(-1, "it", instance2, mounted2);
    }
    this.#opened = { instance: instance2, mount: mounted2, id };
    return this.#opened;
  }
  #leave() {
    const opened = this.#opened;
    this.#opened = void 0;
    if (opened === void 0 || opened.instance.broken !== void 0) return;
    try {
      opened.instance.library.close_file(opened.id);
      opened.mount.unmount();
    } catch (error) {
      opened.instance.broken = error;
    }
  }
  async #call(what, call) {
    const opened = await this.#ready();
    return this.#guarded(what, opened.instance, () => call({ ...opened, library: opened.instance.library }));
  }
  /** Whatever the library throws: it went through code that does not expect it, so the library is of no more use. */
  #guarded(what, instance2, call) {
    try {
      return call();
    } catch (cause) {
      if (cause instanceof RldsError) throw cause;
      instance2.broken = cause ?? "it threw nothing";
      throw new RldsError("CORRUPT", `HDF5 cannot read ${what}: ${cause instanceof Error ? cause.message : String(cause)}`, { file: this.name }, { cause });
    }
  }
  #done(status, what, instance2, mount2) {
    const said = instance2.said();
    if (status >= 0) return;
    if (mount2.failure !== void 0) throw mount2.failure;
    throw new RldsError("CORRUPT", `HDF5 cannot read ${what}: ${said}`, { file: this.name });
  }
  #fits(path, bytes) {
    if (bytes > this.maxBytes)
      throw new RldsError("CORRUPT", `${path} needs ${bytes} bytes at once, more than the ${this.maxBytes} that maxBytes allows`, { file: this.name });
  }
  async #rows(path, shape, element, from, to) {
    const [count, offset, stride] = [[to - from, ...shape.slice(1)], [from, ...shape.slice(1).fill(0)], shape.map(() => 1)].map((list) => list.map(BigInt));
    const n = shape.length === 0 ? 1 : (to - from) * sizeOf2(shape.slice(1));
    this.#fits(path, n * element.bytes);
    return this.#call(path, ({ instance: instance2, library, id, mount: mount2 }) => {
      const selected = shape.length === 0 ? [null, null, null] : [count, offset, stride];
      return this.#elements(library, path, element, n, {
        read: (at) => this.#done(library.get_dataset_data(id, path, selected[0], selected[1], selected[2], BigInt(at)), path, instance2, mount2),
        reclaim: (at) => shape.length === 0 ? library.reclaim_vlen_memory(id, path, "", BigInt(at)) : library.reclaim_vlen_memory_count(id, path, "", BigInt(at), count)
      });
    });
  }
  /** Room for n elements in the library's memory, filled, copied, given back. */
  #elements(library, what, element, n, { read, reclaim }) {
    const bytes = n * element.bytes;
    this.#fits(what, bytes);
    if (bytes === 0) return element.decode(new Uint8Array(0), library);
    const at = bytes > library.MAXIMUM_MEMORY ? 0 : library._malloc(bytes);
    if (at === 0) throw new RldsError("CORRUPT", `${what} needs ${bytes} bytes at once, more than HDF5 has here`, { file: this.name });
    try {
      library.HEAPU8.fill(0, at, at + bytes);
      read(at);
      return element.decode(library.HEAPU8.slice(at, at + bytes), library);
    } finally {
      if (element.allocates) reclaim(at);
      library._free(at);
    }
  }
};

// src/formats/hdf5/open-file.ts
async function openHdf5(from, names, { signal, maxBytes = MAX_BYTES }) {
  const { file, folder } = await sourceOf(from, { signal, maxBytes });
  if (file !== void 0) return { hdf5: await Hdf5File.open(file, { signal, maxBytes }) };
  const { found: found3, path } = await fileIn(folder, names);
  return { hdf5: await Hdf5File.open(found3, { signal, maxBytes }), folder, path };
}
async function fileIn(folder, names) {
  const paths = await folder.list();
  const fitting = paths?.filter((path) => names.some((name) => path === name || path.endsWith(`/${name}`) || name.startsWith(".") && path.endsWith(name)));
  const tried = paths === void 0 ? names.filter((name) => !name.startsWith(".")) : names.filter((name) => paths.includes(name));
  for (const path of tried.length > 0 ? tried : fitting ?? []) {
    if (tried.length === 0 && fitting !== void 0 && fitting.length > 1) {
      const some = fitting.slice(0, 4).join(", ");
      throw new RldsError("UNSUPPORTED", `the folder has ${fitting.length} datasets (${some}${fitting.length > 4 ? ", \u2026" : ""}): open one of them`, { file: folder.name });
    }
    try {
      return { found: await folder.open(path), path };
    } catch (error) {
      if (!(error instanceof RldsError && error.code === "NOT_FOUND")) throw error;
    }
  }
  throw new RldsError("NOT_FOUND", `the folder has no ${names.join(", and no ")}`, { file: folder.name });
}

// src/formats/hdf5/d4rl.ts
var FINAL = ["rlds", "next", "none"];
async function openD4rl(from, options = {}) {
  const { finalObservation = "rlds", maxEpisodeSteps } = options;
  if (!FINAL.includes(finalObservation)) throw internals.mustBe(RangeError, "finalObservation", `one of ${FINAL.join(", ")}`, finalObservation);
  if (maxEpisodeSteps !== void 0) internals.integer("maxEpisodeSteps", maxEpisodeSteps, 1, Number.MAX_SAFE_INTEGER);
  const { hdf5 } = await openHdf5(from, [".hdf5", ".h5"], options);
  try {
    const table = await tableOf(hdf5, options);
    const metadata = options.metadata === false || await hdf5.entry("/metadata") !== "group" ? {} : await hdf5.tree("/metadata");
    const about = Object.fromEntries([...await hdf5.attributes("/")].map(([name, { leaf, data }]) => [name, leaf.shape.length > 0 ? data : data[0]]));
    return new D4rlReader(hdf5, table, metadata, await valuesOf(metadata), about, { ...options, finalObservation, maxBytes: hdf5.maxBytes });
  } catch (error) {
    await hdf5.close();
    throw error;
  }
}
var D4rlReader = class {
  constructor(hdf5, table, metadata, values, about, options) {
    this.format = "d4rl";
    this.#hdf5 = hdf5;
    this.#table = table;
    this.#metadata = values;
    this.#options = options;
    this.name = hdf5.name.replace(/\.(hdf5|h5)$/, "");
    this.stepSpec = stepSpecOf(specOf(table.transition));
    this.metadataSpec = specOfValues(metadata);
    this.about = about;
  }
  #hdf5;
  #table;
  #metadata;
  #options;
  async *[Symbol.asyncIterator]() {
    for await (const steps of flatEpisodes(this.#table, this.#options)) yield { ...this.#metadata, steps };
  }
  close() {
    return this.#hdf5.close();
  }
};
async function tableOf(hdf5, { infos, finalObservation, maxEpisodeSteps }) {
  const file = hdf5.name;
  const single = async (name) => squeezed(await hdf5.column(`/${name}`));
  for (const name of ["observations", "actions", "rewards", "terminals"])
    if (await hdf5.entry(`/${name}`) === void 0) throw new RldsError("CORRUPT", `the file has no ${name}: it is none of D4RL's`, { file });
  const observation = await hdf5.tree("/observations");
  const terminals = await single("terminals");
  const timeouts = await hdf5.entry("/timeouts") === void 0 ? void 0 : await single("timeouts");
  const next = await hdf5.entry("/next_observations") === void 0 ? void 0 : await hdf5.tree("/next_observations");
  const info2 = infos === true && await hdf5.entry("/infos") === "group" ? await hdf5.tree("/infos") : {};
  if (timeouts === void 0 && maxEpisodeSteps === void 0)
    throw new RldsError("UNSUPPORTED", "the file has no timeouts, which say where episodes are cut: give maxEpisodeSteps, the environment's time limit", { file });
  if (next === void 0 && finalObservation === "next") throw new RldsError("UNSUPPORTED", "the file has no next_observations, which finalObservation asks for", { file });
  const different = next === void 0 ? void 0 : sameSpec(specOf(observation), specOf(next));
  if (different !== void 0) throw new RldsError("CORRUPT", `next_observations are no observations: ${different}`, { file });
  const wrong = [terminals, timeouts].find((column) => column !== void 0 && (column.leaf.shape.length > 0 || ["string", "bytes"].includes(column.leaf.dtype)));
  if (wrong !== void 0) throw new RldsError("CORRUPT", `${wrong.path} must have a flag a row`, { file });
  const transition = { observation, action: await hdf5.tree("/actions"), reward: await single("rewards"), ...columnsOf(info2).length > 0 ? { infos: info2 } : {} };
  if (columnsOf(observation).length === 0) throw new RldsError("CORRUPT", "the file has no observations", { file });
  rowsOf([...columnsOf(transition), terminals, ...timeouts === void 0 ? [] : [timeouts], ...next === void 0 ? [] : columnsOf(next)], file);
  return { file, transition, terminals, timeouts, nextObservation: next };
}
function specOfValues(tree) {
  if (tree instanceof Column) return { ...tree.leaf, shape: [...tree.rows === void 0 ? [] : [tree.rows], ...tree.leaf.shape] };
  if (Array.isArray(tree)) return tree.map(specOfValues);
  return Object.fromEntries(Object.entries(tree).map(([name, node]) => [name, specOfValues(node)]));
}
async function valuesOf(tree) {
  const values = [];
  for (const { leaf, rows, read } of columnsOf(tree)) {
    const data = await read(0, rows ?? 0);
    values.push(rows !== void 0 || leaf.shape.length > 0 ? data : leaf.dtype === "bool" ? data[0] === 1 : data[0]);
  }
  return packed(specOf(tree), values);
}

// src/formats/hdf5/minari-metadata.ts
var MOST_BYTES2 = 2 ** 26;
async function metadataJson(folder, path) {
  const name = path.replace(/[^/]*$/, "metadata.json");
  const file = await folder.open(name).catch((error) => {
    if (error instanceof RldsError && error.code === "NOT_FOUND") return void 0;
    throw error;
  });
  if (file === void 0) return {};
  try {
    if (file.size > MOST_BYTES2) throw new RldsError("CORRUPT", `metadata takes at most ${MOST_BYTES2} bytes, this file ${file.size}`, { file: name });
    return parsed(new TextDecoder().decode(await file.read(0, file.size)), name);
  } finally {
    await file.close();
  }
}
function parsed(text, file) {
  let about;
  try {
    about = JSON.parse(text);
  } catch (cause) {
    throw new RldsError("CORRUPT", `the file is not JSON: ${cause.message}`, { file }, { cause });
  }
  if (typeof about !== "object" || about === null || Array.isArray(about)) throw new RldsError("CORRUPT", "the file must hold a JSON object", { file });
  const { data_format: format = "hdf5" } = about;
  if (format !== "hdf5") throw new RldsError("UNSUPPORTED", `the dataset's format is ${JSON.stringify(format)}: only Minari's hdf5 is read`, { file });
  return about;
}

// src/formats/hdf5/minari.ts
async function openMinari(from, options = {}) {
  const { hdf5, folder, path } = await openHdf5(from, ["data/main_data.hdf5", "main_data.hdf5"], options);
  try {
    const about = folder === void 0 ? {} : await metadataJson(folder, path);
    return await MinariReader.of(hdf5, about, options);
  } catch (error) {
    await hdf5.close();
    throw error;
  }
}
var MinariReader = class _MinariReader {
  constructor(hdf5, groups, first, attributes, about, options) {
    this.format = "minari";
    this.#hdf5 = hdf5;
    this.#groups = groups;
    this.#transition = first.transition;
    this.#options = options;
    this.stepSpec = stepSpecOf(first.transition);
    this.metadataSpec = nested(attributes, ({ leaf }) => leaf);
    this.episodes = groups.length;
    if (typeof about.total_steps === "number" && about.total_episodes === groups.length) this.steps = about.total_steps + groups.length;
    this.name = typeof about.dataset_id === "string" ? about.dataset_id : hdf5.name;
    this.about = about;
  }
  #hdf5;
  /** The groups' names, in order. */
  #groups;
  #transition;
  #options;
  static async of(hdf5, about, options) {
    const groups = (await hdf5.names("/")).filter((name) => /^episode_\d+$/.test(name)).sort((a, b) => numberOf(a) - numberOf(b));
    const [group] = groups;
    if (group === void 0) throw new RldsError("EMPTY", "the file has no episodes: no group is called episode_0", { file: hdf5.name });
    const first = await found2(hdf5, group, 0, options);
    return new _MinariReader(hdf5, groups, first, await hdf5.attributes(`/${group}`), about, options);
  }
  async *[Symbol.asyncIterator]() {
    for (const [episode, group] of this.#groups.entries()) {
      this.#options.signal?.throwIfAborted();
      const steps = await this.#steps(group, episode);
      const metadata = nested(await this.#hdf5.attributes(`/${group}`), valueOf);
      yield { ...metadata, steps };
    }
  }
  close() {
    return this.#hdf5.close();
  }
  async #steps(group, episode) {
    const { transition, columns, terminations, length } = await found2(this.#hdf5, group, episode, this.#options);
    const difference = sameSpec(this.#transition, transition);
    if (difference !== void 0) throw new RldsError("SPEC_MISMATCH", `${group} differs from the first episode: ${difference}`, { file: this.#hdf5.name, episode });
    const data = [];
    for (const column of columns) data.push(await column.read(0, column.rows));
    const terminated = length > 0 && (await terminations.read(length - 1, length))[0] === 1;
    return stepsOf3(transition, { data, length, finalStep: true, ending: terminated ? "terminated" : "truncated" });
  }
};
var numberOf = (group) => Number(group.slice("episode_".length));
async function found2(hdf5, group, episode, { infos }) {
  const file = hdf5.name;
  const [observation, action, reward] = [await hdf5.tree(`/${group}/observations`), await hdf5.tree(`/${group}/actions`), await hdf5.column(`/${group}/rewards`)];
  const withInfos = infos === true && await hdf5.entry(`/${group}/infos`) === "group";
  const info2 = withInfos ? await hdf5.tree(`/${group}/infos`) : {};
  const tree = { observation, action, reward, ...columnsOf(info2).length > 0 ? { infos: info2 } : {} };
  const terminations = await hdf5.column(`/${group}/terminations`);
  const columns = columnsOf(tree);
  const length = reward.rows ?? 0;
  const transition = specOf(tree);
  leavesOf2(transition).forEach(({ path, keys }, i) => {
    const { rows } = columns[i];
    const most = keys[0] === "observation" || keys[0] === "infos" ? length + 1 : length;
    if (rows !== most && !(keys[0] === "infos" && rows === length))
      throw new RldsError("CORRUPT", `${group} has ${rows ?? "no"} rows of ${path}, and ${length} rewards: ${most} would fit`, { file, episode });
  });
  if (columnsOf(observation).length === 0 || columnsOf(action).length === 0)
    throw new RldsError("CORRUPT", `${group} has no columns of observations or of actions`, { file, episode });
  if (terminations.rows !== length || terminations.leaf.dtype !== "bool" || sizeOf2(terminations.leaf.shape) !== 1)
    throw new RldsError("CORRUPT", `${group}/terminations must have a boolean a reward`, { file, episode });
  const bytes = columns.reduce((sum, { rows, rowBytes }) => sum + rows * rowBytes, 0);
  if (bytes > hdf5.maxBytes) throw new RldsError("CORRUPT", `${group} takes ${bytes} bytes, more than the ${hdf5.maxBytes} that maxBytes allows`, { file, episode });
  return { transition, columns, terminations, length };
}
function nested(attributes, of2) {
  const top = /* @__PURE__ */ Object.create(null);
  for (const [name, attribute] of attributes) {
    const keys = name.split("/");
    let at = top;
    for (const key of keys.slice(0, -1)) {
      const next = at[key];
      at[key] = typeof next === "object" && next !== null && !("dtype" in next) && !ArrayBuffer.isView(next) ? next : /* @__PURE__ */ Object.create(null);
      at = at[key];
    }
    at[keys.at(-1)] = of2(attribute);
  }
  delete top.steps;
  return { ...top };
}
function valueOf({ leaf, data }) {
  if (leaf.shape.length > 0) return data;
  return leaf.dtype === "bool" ? data[0] === 1 : data[0];
}

// test/support/mutants.ts
function randoms(seed) {
  let a = seed | 0;
  return () => {
    a = a + 1831565813 | 0;
    let t = Math.imul(a ^ a >>> 15, 1 | a);
    t = t + Math.imul(t ^ t >>> 7, 61 | t) ^ t;
    return (t ^ t >>> 14) >>> 0;
  };
}
function mutant(bytes, random2) {
  const below = (n) => random2() % Math.max(1, n);
  let out = bytes.slice();
  for (let n = 1 + below(4); n > 0; n--) {
    const at = below(out.length);
    const kind = below(8);
    const part3 = out.slice(at, at + 1 + below(64));
    if (kind === 0) out = out.slice(0, at);
    else if (kind === 1) out.set(part3.slice(0, out.length - 64), below(out.length - part3.length));
    else if (kind === 2) out.fill([0, 255, 1, 127][below(4)], at, at + 1 + below(16));
    else if (kind === 3) out = Uint8Array.from([...out.subarray(0, at), ...part3, ...out.subarray(at)]);
    else if (kind === 4 && at + 8 < out.length) new DataView(out.buffer).setBigUint64(at, BigInt(below(3) === 0 ? 2 ** 40 : below(2 ** 31)), true);
    else out[at] = kind < 6 ? out[at] ^ 1 << below(8) : below(256);
    if (out.length === 0) return out;
  }
  return out;
}

// ../../tmp/fuzz.ts
var seen = /* @__PURE__ */ new Map();
var slow = [];
var broke = 0;
var random = randoms(Number(process.env.SEED ?? 1));
var N = Number(process.env.N ?? 300);
for (const [file, open] of [["d4rl/whole", openD4rl], ["d4rl/odd", openD4rl], ["minari/walk/nested-v0/data/main_data", openMinari]]) {
  const bytes = new Uint8Array(readFileSync(`/work/wt-hdf5/test/data/extra/${file}.hdf5`));
  for (let i = 0; i < N; i++) {
    const bad = mutant(bytes, random);
    if (process.env.ONLY && process.env.ONLY !== `${file}:${i}`) continue;
    writeSync(2, `${file}:${i} `);
    const t = performance.now();
    let end = "read";
    const inst = await h5wasm();
    try {
      const r = await open(new Blob([bad]), { infos: true, maxBytes: 2 ** 26 });
      if (process.env.ONLY) console.log("opened", JSON.stringify(r.stepSpec));
      try {
        for await (const e of r) for (const s of e.steps) void s;
      } finally {
        await r.close();
      }
    } catch (e) {
      end = `${e.name} ${e.code} ${e.file ? "" : "NOFILE"} ${e.message.replace(/\d+/g, "N").slice(0, 150)}`;
      if (e.name !== "RldsError") end += e.stack;
    }
    if (inst.broken) {
      broke++;
      end += " BROKE";
    }
    const ms = performance.now() - t;
    if (ms > 500) slow.push([file, i, ms]);
    seen.set(end, (seen.get(end) ?? 0) + 1);
  }
}
for (const [k, v] of [...seen].sort((a, b) => b[1] - a[1])) console.log(v, k);
console.log("broke", broke, "slow", slow, process.memoryUsage().rss / 2 ** 20);
