; The installer for one person: no administrator, nothing outside of the person's own folders.
Target amd64-unicode
SetCompressor /SOLID lzma
!include MUI2.nsh

Name "${title}"
OutFile "${out}"
InstallDir "$$LOCALAPPDATA\Programs\${title}"
InstallDirRegKey HKCU "Software\${command}" "Folder"
RequestExecutionLevel user
!define MUI_ICON "${icon}"
!define MUI_UNICON "${icon}"
!insertmacro MUI_PAGE_WELCOME
!insertmacro MUI_PAGE_DIRECTORY
!insertmacro MUI_PAGE_INSTFILES
!define MUI_FINISHPAGE_RUN "$$INSTDIR\${command}.exe"
!insertmacro MUI_PAGE_FINISH
!insertmacro MUI_UNPAGE_CONFIRM
!insertmacro MUI_UNPAGE_INSTFILES
!insertmacro MUI_LANGUAGE "English"
!insertmacro MUI_LANGUAGE "German"

!define REMOVAL "Software\Microsoft\Windows\CurrentVersion\Uninstall\${id}"

LangString OTHER $${LANG_ENGLISH} "${title} was installed from an MSI package. Remove that first, in Windows' settings under Apps."
LangString OTHER $${LANG_GERMAN} "${title} wurde aus einem MSI-Paket installiert. Entfernen Sie das zuerst, in den Einstellungen von Windows unter Apps."
LangString RUNS $${LANG_ENGLISH} "Close ${title} first. If no window of it is open, it runs in the background: end ${command}.exe in the task manager."
LangString RUNS $${LANG_GERMAN} "Schließen Sie zuerst ${title}. Ist kein Fenster davon offen, läuft es im Hintergrund: beenden Sie ${command}.exe im Task-Manager."

; Ends before anything is changed if the program runs: Windows lets nobody write to its file then,
; nor rename a folder with files that are open. What was in the folder is to be deleted.
!macro SET_ASIDE
  ClearErrors
  IfFileExists "$$INSTDIR\${command}.exe" 0 +5
    FileOpen $$0 "$$INSTDIR\${command}.exe" a
    IfErrors 0 +2
      Goto runs
    FileClose $$0
  RMDir /r "$$INSTDIR\_internal.old"
  ClearErrors
  IfFileExists "$$INSTDIR\_internal\*.*" 0 free
  Rename "$$INSTDIR\_internal" "$$INSTDIR\_internal.old"
  IfErrors 0 free
  runs:
    MessageBox MB_OK|MB_ICONSTOP "$$(RUNS)" /SD IDOK
    SetErrorLevel 2
    Abort "$$(RUNS)"
  free:
!macroend

Function .onInit
  ReadRegStr $$0 HKCU "Software\${command}" "Package"
  StrCmp $$0 "msi" 0 +4
    MessageBox MB_OK|MB_ICONSTOP "$$(OTHER)" /SD IDOK
    SetErrorLevel 2
    Quit
FunctionEnd

Section
  ; The files of the version before, and nothing that the person keeps: that is elsewhere.
  !insertmacro SET_ASIDE
  SetOutPath "$$INSTDIR"
  File /r "${program}\*"
  RMDir /r "$$INSTDIR\_internal.old"
  WriteUninstaller "$$INSTDIR\uninstall.exe"
  CreateShortcut "$$SMPROGRAMS\${title}.lnk" "$$INSTDIR\${command}.exe" "" "$$INSTDIR\${command}.exe"
  WriteRegStr HKCU "Software\${command}" "Folder" "$$INSTDIR"

${opened}

  WriteRegStr HKCU "$${REMOVAL}" "DisplayName" "${title}"
  WriteRegStr HKCU "$${REMOVAL}" "DisplayVersion" "${version}"
  WriteRegStr HKCU "$${REMOVAL}" "Publisher" "${publisher}"
  WriteRegStr HKCU "$${REMOVAL}" "DisplayIcon" "$$INSTDIR\${command}.exe"
  WriteRegStr HKCU "$${REMOVAL}" "UninstallString" '"$$INSTDIR\uninstall.exe"'
  WriteRegStr HKCU "$${REMOVAL}" "QuietUninstallString" '"$$INSTDIR\uninstall.exe" /S'
  WriteRegDWORD HKCU "$${REMOVAL}" "EstimatedSize" ${kilobytes}
  WriteRegDWORD HKCU "$${REMOVAL}" "NoModify" 1
  WriteRegDWORD HKCU "$${REMOVAL}" "NoRepair" 1
SectionEnd

Section "Uninstall"
  !insertmacro SET_ASIDE
  RMDir /r "$$INSTDIR\_internal.old"
  Delete "$$INSTDIR\bom.cdx.json"
  Delete "$$INSTDIR\licences.txt"
  Delete "$$INSTDIR\${command}.exe"
  Delete "$$INSTDIR\uninstall.exe"
  RMDir "$$INSTDIR"
  Delete "$$SMPROGRAMS\${title}.lnk"
${opened_removed}
  ; What the program writes itself where a person wants it to begin at login.
  DeleteRegValue HKCU "Software\Microsoft\Windows\CurrentVersion\Run" "${run_value}"
  DeleteRegKey HKCU "$${REMOVAL}"
  DeleteRegKey HKCU "Software\${command}"
SectionEnd
